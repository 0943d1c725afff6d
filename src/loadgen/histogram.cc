#include "loadgen/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/check.h"

namespace exa::loadgen {

Histogram::Histogram(unsigned digits) : digits_(digits) {
    EXA_CHECK(digits >= 2 && digits <= 16);
}

std::size_t Histogram::index_of(std::uint64_t value) const {
    if (value >> digits_ == 0) return value;
    const auto shift = static_cast<unsigned>(std::bit_width(value)) - digits_;
    const std::uint64_t half = std::uint64_t{1} << (digits_ - 1);
    return (shift + 1) * half + (value >> shift) - half;
}

Histogram::Bucket Histogram::bucket_at(std::size_t index) const {
    const std::uint64_t half = std::uint64_t{1} << (digits_ - 1);
    if (index < 2 * half) return {index, index, counts_[index]};
    const std::uint64_t shift = index / half - 1;
    const std::uint64_t low = (index % half + half) << shift;
    return {low, low + (std::uint64_t{1} << shift) - 1, counts_[index]};
}

void Histogram::add(std::uint64_t value, std::uint32_t times) {
    if (times == 0) return;
    value = std::min(value, value_max);
    const std::size_t index = index_of(value);
    if (index >= counts_.size()) counts_.resize(index + 1);
    std::uint32_t& cell = counts_[index];
    cell += std::min(times, ~cell);
    count_ += times;
    min_ = std::min(min_, value);
    max_ = std::max(max_, value);
    sum_ += static_cast<double>(value) * times;
}

void Histogram::merge(const Histogram& other) {
    EXA_CHECK(digits_ == other.digits_);
    if (counts_.size() < other.counts_.size()) counts_.resize(other.counts_.size());
    for (std::size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += std::min(other.counts_[i], ~counts_[i]);
    count_ += other.count_;
    min_ = std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
    sum_ += other.sum_;
}

double Histogram::mean() const {
    return count_ == 0 ? 0 : sum_ / static_cast<double>(count_);
}

std::uint64_t Histogram::percentile(double share) const {
    if (count_ == 0) return 0;
    const double rank = std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(count_));
    const auto wanted = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(rank));
    std::uint64_t passed = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
        passed += counts_[i];
        if (passed >= wanted) return std::min(bucket_at(i).high, max_);
    }
    return max_;
}

std::vector<Histogram::Bucket> Histogram::buckets() const {
    std::vector<Bucket> filled;
    for (std::size_t i = 0; i < counts_.size(); ++i)
        if (counts_[i] > 0) filled.push_back(bucket_at(i));
    return filled;
}

}  // namespace exa::loadgen
