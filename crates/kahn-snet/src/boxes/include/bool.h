/* Box sources for the old implementation include this for `bool`. */
#include <stdbool.h>
