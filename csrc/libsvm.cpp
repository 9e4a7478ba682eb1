// Text in the format of LIBSVM: rows of "label index:value index:value ...", one per line.
//
// One pass without look-ahead: every line ends with a line break, so that nothing inside a line has to check for the
// end of the text.  Decimals are correctly rounded.
#include "declarations.h"

#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace {

constexpr double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }
inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
inline bool ends_line(char c) { return c == '\n' || c == '#'; }
inline bool ends_token(char c) { return is_blank(c) || ends_line(c); }

inline const char *after_digits(const char *at, uint64_t *value) {
    uint64_t sum = *value;
    for (; is_digit(*at); ++at) sum = 10 * sum + static_cast<uint64_t>(*at - '0');
    *value = sum;
    return at;
}

// The number by strtod, which returns 0 or infinity for numbers beyond the range of doubles.
const char *by_strtod(const char *at, const char *end, double *value) {
    char copy[64];
    const std::size_t size = static_cast<std::size_t>(end - at);
    char *room = size < sizeof copy ? copy : static_cast<char *>(std::malloc(size + 1));
    if (room == nullptr) return nullptr;
    std::memcpy(room, at, size);
    room[size] = '\0';
    char *stop;
    *value = std::strtod(room, &stop);
    const std::ptrdiff_t length = stop - room;
    if (room != copy) std::free(room);
    return length > 0 ? at + length : nullptr;
}

// Any decimal, infinity or NaN; `end` is that of the text.
const char *any_number(const char *at, const char *end, double *value) {
    if (!is_digit(*at) && *at != '.') {  // C has NaNs with something in brackets
        for (const char *c = at; !ends_token(*c); ++c) {
            if (*c == '(') return nullptr;
        }
    }
#if defined(__cpp_lib_to_chars)
    const std::from_chars_result result = std::from_chars(at, end, *value);
    if (result.ec == std::errc::result_out_of_range) return by_strtod(at, result.ptr, value);
    return result.ec == std::errc() ? result.ptr : nullptr;
#else  // a standard library without it: strtod would also accept hexadecimal numbers and leading blanks
    const char *stop = at;
    for (; stop != end && !ends_token(*stop) && *stop != ',' && *stop != ':'; ++stop) {
        if (*stop == 'x' || *stop == 'X') return nullptr;
    }
    return by_strtod(at, stop, value);
#endif
}

// The number at `at`, and what follows it; nullptr where there is none.
inline const char *number(const char *at, const char *end, double *value) {
    const bool negative = *at == '-', sign = negative || *at == '+';
    const char *first = at + sign, *digits = first;
    uint64_t mantissa = 0;
    const char *next = after_digits(digits, &mantissa);
    int64_t count = next - digits, power = 0;
    if (*next == '.') {
        digits = next + 1;
        next = after_digits(digits, &mantissa);
        power = digits - next;
        count -= power;
    }
    // Exact where both are doubles that are exact: the quotient or product is then rounded once.  18 digits do not
    // overflow 64 bits.
    if (count > 0 && count <= 18 && mantissa <= uint64_t(1) << 53 && power >= -22 && ends_token(*next)) {
        const double magnitude = static_cast<double>(mantissa) / powers_of_ten[-power];
        *value = negative ? -magnitude : magnitude;
        return next;
    }
    if (sign && (*first == '-' || *first == '+')) return nullptr;
    next = any_number(first, end, value);
    if (next != nullptr && negative) *value = -*value;
    return next;
}

template <class Index>
struct Rows {
    const char *text, *end;
    int64_t base;
    double *labels;  // null where rows are only to be counted
    Index *starts, *indices;
    double *values;
    mercer_libsvm_found *found;

    int fail(int what, const char *at) {
        found->offset = at - text;
        return what;
    }

    // The entries of one row from `at` on; `at` is left at the end of the line.
    int entries(const char *&at) {
        int64_t last = -1;
        for (;;) {
            while (is_blank(*at)) ++at;
            if (ends_line(*at)) return MERCER_LIBSVM_FINE;
            const char *token = at;
            uint64_t index = 0;
            const char *colon = after_digits(at, &index);
            if (*at == '-') return fail(MERCER_LIBSVM_NEGATIVE, token);
            if (colon == at || *colon != ':') return fail(MERCER_LIBSVM_ENTRY, token);
            if (colon - at > 18) return fail(MERCER_LIBSVM_INDEX, token);
            const int64_t place = static_cast<int64_t>(index);
            if (place < base) return fail(MERCER_LIBSVM_BASE, token);
            if (place <= last) return fail(place == last ? MERCER_LIBSVM_TWICE : MERCER_LIBSVM_ORDER, token);
            last = place;
            at = colon + 1;
            if (labels == nullptr) {
                while (!ends_token(*at)) ++at;
            } else {
                const char *next = number(at, end, values + found->entries);
                if (next == nullptr || !ends_token(*next)) return fail(MERCER_LIBSVM_VALUE, token);
                at = next;
                indices[found->entries] = static_cast<Index>(place - base);
            }
            ++found->entries;
            if (place < found->least) found->least = place;
            if (place > found->most) found->most = place;
        }
    }

    int row(const char *&at) {
        double label;
        const char *next = number(at, end, &label);
        if (next != nullptr && *next == ',') return fail(MERCER_LIBSVM_LABELS, at);
        if (next == nullptr || !ends_token(*next)) return fail(MERCER_LIBSVM_LABEL, at);
        at = next;
        while (is_blank(*at)) ++at;
        if (std::strncmp(at, "qid:", 4) == 0) {  // the query that a row belongs to, which is no feature
            uint64_t query = 0;
            next = after_digits(at + 4, &query);
            if (next == at + 4 || !ends_token(*next)) return fail(MERCER_LIBSVM_ENTRY, at);
            at = next;
        }
        const int what = entries(at);
        if (what != MERCER_LIBSVM_FINE) return what;
        if (labels != nullptr) {
            labels[found->rows] = label;
            starts[found->rows + 1] = static_cast<Index>(found->entries);
        }
        ++found->rows;
        return MERCER_LIBSVM_FINE;
    }

    int all() {
        if (labels != nullptr) starts[0] = 0;
        for (const char *at = text; at != end; ++at, ++found->line) {
            while (is_blank(*at)) ++at;
            if (!ends_line(*at)) {
                const int what = row(at);
                if (what != MERCER_LIBSVM_FINE) return what;
            }
            if (*at == '#') at = static_cast<const char *>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
        }
        return MERCER_LIBSVM_FINE;
    }
};

}  // namespace

namespace mercer {

size_t count(const char *text, size_t size, int letter) {
    size_t count = 0;
    while (size > 0) {  // in registers of bytes, emptied before they overflow
        const size_t part = size < 128 * 255 ? size : 128 * 255;
        uint8_t sums[128] = {0};
        size_t i = 0;
        for (; i + 128 <= part; i += 128) {
            for (size_t j = 0; j < 128; ++j) sums[j] += static_cast<uint8_t>(text[i + j] == static_cast<char>(letter));
        }
        for (; i < part; ++i) count += text[i] == static_cast<char>(letter);
        for (const uint8_t sum : sums) count += sum;
        text += part;
        size -= part;
    }
    return count;
}

int libsvm(const char *text, size_t size, int64_t base, size_t index_bytes, double *labels, void *starts,
           void *indices, double *values, mercer_libsvm_found *found) {
    *found = {0, 0, INT64_MAX, -1, 0, 0};
    const char *end = text + size;
    if (index_bytes == 4) {
        return Rows<int32_t>{text, end, base, labels, static_cast<int32_t *>(starts), static_cast<int32_t *>(indices),
                             values, found}.all();
    }
    return Rows<int64_t>{
        text, end, base, labels, static_cast<int64_t *>(starts), static_cast<int64_t *>(indices), values, found}
        .all();
}

}  // namespace mercer
