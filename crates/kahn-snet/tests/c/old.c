#include <C4SNet.h>
#include <bool.h>

/* ((x) -> (x, p)): p says whether x is at most 1. */
void *leq1(void *hnd, c4snet_data_t *x)
{
    bool small = *(int *)C4SNetGetData(x) <= 1;
    int p = small;
    C4SNetOut(hnd, 1, C4SNetShallowCopy(x), C4SNetCreate(CTYPE_int, 1, &p));
    C4SNetFree(x);
    return hnd;
}

void *condif(void *hnd, c4snet_data_t *p)
{
    if (*(int *)C4SNetGetData(p)) {
        C4SNetOut(hnd, 1, 0);
    } else {
        C4SNetOut(hnd, 2, 0);
    }
    C4SNetFree(p);
    return hnd;
}

void *sub(void *hnd, c4snet_data_t *x)
{
    void *room;
    c4snet_data_t *less = C4SNetAlloc(CTYPE_int, 1, &room);
    *(int *)room = *(int *)C4SNetGetData(x) - 1;
    C4SNetFree(x);
    C4SNetOut(hnd, 1, less);
    return hnd;
}

void *mult(void *hnd, c4snet_data_t *x, c4snet_data_t *r)
{
    int product = *(int *)C4SNetGetData(x) * *(int *)C4SNetGetData(r);
    C4SNetFree(x);
    C4SNetFree(r);
    C4SNetOut(hnd, 1, C4SNetCreate(CTYPE_int, 1, &product));
    return hnd;
}
