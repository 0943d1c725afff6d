// Histogram: counts of values in buckets whose width grows with the value, so that every percentile is known to a fixed
// relative error in bounded memory, whatever the values are (the idea of Gil Tene's HdrHistogram).
//
// Values below 2^digits have a bucket each; above, every doubling is split into 2^(digits - 1) buckets. A percentile is
// off by at most 1 in 2^(digits - 1): 0.1 % with 11 digits, 3 % with 6.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace exa::loadgen {

class Histogram {
  public:
    static constexpr unsigned digits_default = 11;
    // Larger values count as this one: 2^40 microseconds are 12 days.
    static constexpr std::uint64_t value_max = (std::uint64_t{1} << 40) - 1;

    // `digits`: 2 .. 16. Memory grows with the largest value seen, to at most (42 - digits) * 2^(digits + 1) bytes.
    explicit Histogram(unsigned digits = digits_default);

    void add(std::uint64_t value, std::uint32_t times = 1);
    // Both have the same digits.
    void merge(const Histogram& other);

    std::uint64_t count() const { return count_; }
    // 0 when empty. Exact.
    std::uint64_t min() const { return count_ == 0 ? 0 : min_; }
    std::uint64_t max() const { return max_; }
    double mean() const;

    // The smallest value that at least `share` (0 .. 1) of the values are not above, to the histogram's precision and
    // never below the true one; 0 when empty.
    std::uint64_t percentile(double share) const;

    struct Bucket {
        std::uint64_t low = 0;
        std::uint64_t high = 0;  // the last value that belongs to it
        std::uint64_t count = 0;
    };
    // Those that are not empty, upwards.
    std::vector<Bucket> buckets() const;

  private:
    std::size_t index_of(std::uint64_t value) const;
    Bucket bucket_at(std::size_t index) const;

    unsigned digits_;
    std::vector<std::uint32_t> counts_;
    std::uint64_t count_ = 0;
    std::uint64_t min_ = value_max;
    std::uint64_t max_ = 0;
    double sum_ = 0;
};

}  // namespace exa::loadgen
