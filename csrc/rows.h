// Rows as kernels receive them: dense, or CSR with indices of 4 or 8 bytes.
#pragma once

#include "isa.h"

#include <cstdint>

namespace {

// The entries of a row: `count` values, in columns 0, 1, 2, ... if `columns` is null.
template <class T, class Index>
struct Entries {
    const T *values;
    const Index *columns;
    std::size_t count;

    std::size_t column(std::size_t i) const { return columns ? static_cast<std::size_t>(columns[i]) : i; }
};

// Dense if index_bytes is 0; otherwise row r has the entries starts[r] to starts[r + 1].
template <class T>
struct Rows {
    const T *values;
    const void *indices;
    std::size_t index_bytes;
    const std::int64_t *starts;
    std::size_t count, columns;

    // Calls see(r, entries) on every row, which returns whether all went well.  Returns the first row that did not, or
    // `count`.
    template <class See>
    std::size_t each(See see) const {
        if (index_bytes == 4) return each_sparse(static_cast<const std::int32_t *>(indices), see);
        if (index_bytes == 8) return each_sparse(static_cast<const std::int64_t *>(indices), see);
        std::size_t first = count;
        for (std::size_t r = 0; r < count; ++r) {
            const bool well = see(r, Entries<T, std::int32_t>{values + r * columns, nullptr, columns});
            if (!well && first == count) first = r;
        }
        return first;
    }

   private:
    template <class Index, class See>
    std::size_t each_sparse(const Index *index, See see) const {
        std::size_t first = count;
        for (std::size_t r = 0; r < count; ++r) {
            const std::size_t start = static_cast<std::size_t>(starts[r]);
            const std::size_t stop = static_cast<std::size_t>(starts[r + 1]);
            const bool well = see(r, Entries<T, Index>{values + start, index + start, stop - start});
            if (!well && first == count) first = r;
        }
        return first;
    }
};

}  // namespace
