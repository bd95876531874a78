/* The documented calls of the C4SNet interface, for box sources that were written for it. */
#ifndef KAHN_C4SNET_H
#define KAHN_C4SNET_H

#include "kahn_snet.h"

typedef kahn_snet_data c4snet_data_t;
typedef enum kahn_snet_type c4snet_type_t;

#define CTYPE_uchar KAHN_SNET_UCHAR
#define CTYPE_char KAHN_SNET_CHAR
#define CTYPE_ushort KAHN_SNET_USHORT
#define CTYPE_short KAHN_SNET_SHORT
#define CTYPE_uint KAHN_SNET_UINT
#define CTYPE_int KAHN_SNET_INT
#define CTYPE_ulong KAHN_SNET_ULONG
#define CTYPE_long KAHN_SNET_LONG
#define CTYPE_float KAHN_SNET_FLOAT
#define CTYPE_double KAHN_SNET_DOUBLE
#define CTYPE_ldouble KAHN_SNET_LDOUBLE
#define CTYPE_pointer KAHN_SNET_POINTER

KAHN_SNET_UNUSED static c4snet_data_t *C4SNetAlloc(c4snet_type_t type, size_t size, void **data)
{
    c4snet_data_t *field = kahn_snet_alloc(type, size);
    *data = field->bytes;
    return field;
}

KAHN_SNET_UNUSED static c4snet_data_t *C4SNetCreate(c4snet_type_t type, size_t size,
                                                    const void *data)
{
    return kahn_snet_create(type, size, data);
}

KAHN_SNET_UNUSED static void C4SNetFree(c4snet_data_t *data) { kahn_snet_free(data); }

KAHN_SNET_UNUSED static c4snet_data_t *C4SNetShallowCopy(c4snet_data_t *data)
{
    return kahn_snet_share(data);
}

KAHN_SNET_UNUSED static c4snet_data_t *C4SNetDeepCopy(c4snet_data_t *data)
{
    return kahn_snet_copy(data);
}

KAHN_SNET_UNUSED static int C4SNetSizeof(c4snet_data_t *data)
{
    return (int)kahn_snet_size(data->type);
}

KAHN_SNET_UNUSED static size_t C4SNetArraySize(c4snet_data_t *data) { return data->length; }

KAHN_SNET_UNUSED static void *C4SNetGetData(c4snet_data_t *data) { return data->bytes; }

KAHN_SNET_UNUSED static c4snet_type_t C4SNetGetType(c4snet_data_t *data)
{
    return (c4snet_type_t)data->type;
}

/* Returns a copy that ends with a zero; the caller frees it. */
KAHN_SNET_UNUSED static char *C4SNetGetString(c4snet_data_t *data)
{
    size_t size = data->length * kahn_snet_size(data->type);
    char *text = (char *)malloc(size + 1);
    if (text == NULL) abort();
    memcpy(text, data->bytes, size);
    text[size] = '\0';
    return text;
}

#define C4SNetOut kahn_snet_out

#endif
