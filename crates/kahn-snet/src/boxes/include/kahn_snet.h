/* Boxes in C for Kahn's S-Net.
 *
 * A box is a function that takes a handle and then, in the order of its signature, a field as
 * `kahn_snet_data *` and a tag as `int`:
 *
 *     box scale ((m, <k>) -> (m) | (<error>));
 *
 *     void *scale(void *box, kahn_snet_data *m, int k)
 *     {
 *         double *values = kahn_snet_bytes(m);
 *         for (size_t i = 0; i < kahn_snet_length(m); i++) values[i] *= k;
 *         kahn_snet_out(box, 1, m);
 *         return box;
 *     }
 *
 * A box owns the fields that it is given: it emits each or frees it. A field that is emitted
 * belongs to the run-time system from then on. Boxes keep no state and may run at the same time.
 *
 * Everything is in this header; nothing needs to be linked.
 */
#ifndef KAHN_SNET_H
#define KAHN_SNET_H

#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define KAHN_SNET_UNUSED __attribute__((unused))
#else
#define KAHN_SNET_UNUSED
#endif

/* The types of elements. */
enum kahn_snet_type {
    KAHN_SNET_UCHAR = 1,
    KAHN_SNET_CHAR = 2,
    KAHN_SNET_USHORT = 3,
    KAHN_SNET_SHORT = 4,
    KAHN_SNET_UINT = 5,
    KAHN_SNET_INT = 6,
    KAHN_SNET_ULONG = 7,
    KAHN_SNET_LONG = 8,
    KAHN_SNET_FLOAT = 9,
    KAHN_SNET_DOUBLE = 10,
    KAHN_SNET_LDOUBLE = 11,
    KAHN_SNET_POINTER = 12
};

/* The value of a field: one element, or an array. Use the functions below. */
typedef struct kahn_snet_data {
    int references;
    int type;
    int array;
    size_t length;
    void *bytes;
} kahn_snet_data;

/* A value at its place in an output tuple. */
typedef struct kahn_snet_value {
    kahn_snet_data *data;
    long tag;
} kahn_snet_value;

/* What a handle points to: for each output tuple a letter for each label, `f` or `t`. */
typedef struct kahn_snet_box {
    void *context;
    int variants;
    const char *const *kinds;
    void (*emit)(void *context, int variant, const kahn_snet_value *values, int count);
    void (*fail)(void *context, const char *reason);
} kahn_snet_box;

/* The most labels of an output tuple. */
#define KAHN_SNET_LABELS 64

/* Returns the size of an element in bytes, 0 for an unknown type. */
KAHN_SNET_UNUSED static size_t kahn_snet_size(int type)
{
    switch (type) {
    case KAHN_SNET_UCHAR:
    case KAHN_SNET_CHAR: return sizeof(char);
    case KAHN_SNET_USHORT:
    case KAHN_SNET_SHORT: return sizeof(short);
    case KAHN_SNET_UINT:
    case KAHN_SNET_INT: return sizeof(int);
    case KAHN_SNET_ULONG:
    case KAHN_SNET_LONG: return sizeof(long);
    case KAHN_SNET_FLOAT: return sizeof(float);
    case KAHN_SNET_DOUBLE: return sizeof(double);
    case KAHN_SNET_LDOUBLE: return sizeof(long double);
    case KAHN_SNET_POINTER: return sizeof(void *);
    default: return 0;
    }
}

/* Makes a field of `length` elements that are not yet set. One element is a value, several are an
 * array; characters are a string and unsigned ones bytes, were it only one. */
KAHN_SNET_UNUSED static kahn_snet_data *kahn_snet_alloc(int type, size_t length)
{
    size_t size = kahn_snet_size(type);
    kahn_snet_data *data = (kahn_snet_data *)malloc(sizeof *data);
    if (size == 0 || data == NULL || length > (size_t)-1 / 2 / size) abort();
    data->references = 1;
    data->type = type;
    data->array = length != 1 || type == KAHN_SNET_CHAR || type == KAHN_SNET_UCHAR;
    data->length = length;
    data->bytes = malloc(length == 0 ? 1 : length * size);
    if (data->bytes == NULL) abort();
    return data;
}

/* Makes a field that is a copy of `length` elements. */
KAHN_SNET_UNUSED static kahn_snet_data *kahn_snet_create(int type, size_t length, const void *from)
{
    kahn_snet_data *data = kahn_snet_alloc(type, length);
    if (length > 0) memcpy(data->bytes, from, length * kahn_snet_size(type));
    return data;
}

/* Makes an array of `length` elements that are not yet set, were it only one. */
KAHN_SNET_UNUSED static kahn_snet_data *kahn_snet_alloc_array(int type, size_t length)
{
    kahn_snet_data *data = kahn_snet_alloc(type, length);
    data->array = 1;
    return data;
}

/* Makes an array that is a copy of `length` elements, were it only one. */
KAHN_SNET_UNUSED static kahn_snet_data *kahn_snet_array(int type, size_t length, const void *from)
{
    kahn_snet_data *data = kahn_snet_create(type, length, from);
    data->array = 1;
    return data;
}

/* Makes a string of the characters up to a zero. */
KAHN_SNET_UNUSED static kahn_snet_data *kahn_snet_string(const char *text)
{
    return kahn_snet_create(KAHN_SNET_CHAR, strlen(text), text);
}

/* Returns whether it is an array, a string or bytes, and not one value. */
KAHN_SNET_UNUSED static int kahn_snet_is_array(const kahn_snet_data *data) { return data->array; }

/* Returns the elements. */
KAHN_SNET_UNUSED static void *kahn_snet_bytes(kahn_snet_data *data) { return data->bytes; }

/* Returns how many elements there are. */
KAHN_SNET_UNUSED static size_t kahn_snet_length(const kahn_snet_data *data) { return data->length; }

/* Gives up a field. */
KAHN_SNET_UNUSED static void kahn_snet_free(kahn_snet_data *data)
{
    if (data == NULL || --data->references > 0) return;
    free(data->bytes);
    free(data);
}

/* Counts one owner more. */
KAHN_SNET_UNUSED static kahn_snet_data *kahn_snet_share(kahn_snet_data *data)
{
    data->references++;
    return data;
}

/* Makes a field of its own with the same elements. */
KAHN_SNET_UNUSED static kahn_snet_data *kahn_snet_copy(const kahn_snet_data *data)
{
    kahn_snet_data *copy = kahn_snet_create(data->type, data->length, data->bytes);
    copy->array = data->array;
    return copy;
}

/* Ends the run: the box cannot do its work, and `reason` says why. */
KAHN_SNET_UNUSED static void kahn_snet_fail(void *handle, const char *reason)
{
    kahn_snet_box *box = (kahn_snet_box *)handle;
    box->fail(box->context, reason);
}

/* Emits `given` values, or as many as the tuple has if that is negative. */
KAHN_SNET_UNUSED static void kahn_snet_vemit(void *handle, int variant, int given, va_list arguments)
{
    kahn_snet_box *box = (kahn_snet_box *)handle;
    kahn_snet_value values[KAHN_SNET_LABELS];
    int count = 0;
    if (variant >= 1 && variant <= box->variants) {
        const char *kind = box->kinds[variant - 1];
        for (; *kind != '\0' && count < KAHN_SNET_LABELS && count != given; kind++, count++) {
            values[count].data = NULL;
            values[count].tag = 0;
            if (*kind == 'f') {
                values[count].data = va_arg(arguments, kahn_snet_data *);
            } else {
                values[count].tag = va_arg(arguments, int);
            }
        }
    }
    box->emit(box->context, variant, values, given < 0 ? count : given);
}

/* Emits output tuple `variant`, counted from 1, with arguments like those of `kahn_snet_out`. */
KAHN_SNET_UNUSED static void kahn_snet_vout(void *handle, int variant, va_list arguments)
{
    kahn_snet_vemit(handle, variant, -1, arguments);
}

/* What `kahn_snet_out` stands for. */
KAHN_SNET_UNUSED static void kahn_snet_emit(void *handle, int variant, int given, ...)
{
    va_list arguments;
    va_start(arguments, given);
    kahn_snet_vemit(handle, variant, given, arguments);
    va_end(arguments);
}

/* Emits output tuple `variant`, counted from 1: fields as `kahn_snet_data *`, tags as `int`. The
 * arguments are counted: too few or too many end the run. */
#define kahn_snet_out(handle, variant, ...) \
    kahn_snet_emit(handle, variant, KAHN_SNET_COUNT(__VA_ARGS__), ##__VA_ARGS__)

/* Counts up to 64 arguments. */
#define KAHN_SNET_COUNT(...) \
    KAHN_SNET_COUNTED(0, ##__VA_ARGS__, 64, 63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, \
    51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, \
    29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, \
    6, 5, 4, 3, 2, 1, 0)
#define KAHN_SNET_COUNTED(zero, \
    a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, \
    a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35, a36, \
    a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, a47, a48, a49, a50, a51, a52, a53, \
    a54, a55, a56, a57, a58, a59, a60, a61, a62, a63, a64, count, ...) count

#ifdef __cplusplus
}
#endif

#endif
