#include <kahn_snet.h>

/* ((values, <factor>) -> (values) | (<count>)) */
void *scale(void *box, kahn_snet_data *values, int factor)
{
    double *each = kahn_snet_bytes(values);
    int count = (int)kahn_snet_length(values);
    for (int i = 0; i < count; i++) each[i] *= factor;
    kahn_snet_out(box, 1, values);
    kahn_snet_out(box, 2, count);
    return box;
}

/* ((text) -> (text)) */
void *check_text(void *box, kahn_snet_data *text)
{
    if (kahn_snet_length(text) == 0) {
        kahn_snet_free(text);
        kahn_snet_fail(box, "the text is empty");
        return box;
    }
    kahn_snet_out(box, 1, text);
    return box;
}

/* Ten arguments, so that some lie on the stack. */
void *many(void *box, int a, int b, int c, int d, int e, int f, int g, int h, int i, int j)
{
    kahn_snet_out(box, 1, a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i - j);
    return box;
}

/* Emits a tuple that the signature does not have. */
void *wrong(void *box, int n)
{
    kahn_snet_out(box, 7, n);
    return box;
}

/* Makes a new array with the same numbers: ((values) -> (values)). */
void *again(void *box, kahn_snet_data *values)
{
    int *each = kahn_snet_bytes(values);
    kahn_snet_out(box, 1, kahn_snet_array(KAHN_SNET_INT, kahn_snet_length(values), each));
    kahn_snet_free(values);
    return box;
}

/* Passes an array on, and gives its first letter: ((text) -> (text, first)). */
void *first(void *box, kahn_snet_data *text)
{
    char letter[] = {*(char *)kahn_snet_bytes(text), '\0'};
    kahn_snet_data *one = kahn_snet_create(KAHN_SNET_CHAR, 1, letter);
    kahn_snet_out(box, 1, text, one, kahn_snet_string(letter));
    return box;
}
