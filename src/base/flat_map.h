// FlatMap: Boost's open-addressing hash table without its iteration, so that no order of the table can reach an
// outcome.
//
// For cores that look things up by the million: nothing is allocated per key, and a look-up reads one or two cache
// lines.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace exa {

// `Hash`: a function object from Key to std::uint64_t whose bits all depend on the whole key (see mix64).
template <class Key, class Value, class Hash>
class FlatMap {
  public:
    bool empty() const { return cells_.empty(); }
    std::size_t size() const { return cells_.size(); }

    // Null when there is none. What a pointer points at stays there until the next put, erase or clear.
    const Value* find(const Key& key) const {
        const auto at = cells_.find(key);
        return at == cells_.end() ? nullptr : &at->second;
    }
    Value* find(const Key& key) { return const_cast<Value*>(std::as_const(*this).find(key)); }

    // Replaces what stood under the key.
    void put(const Key& key, Value value) { cells_.insert_or_assign(key, std::move(value)); }

    // False when there was none.
    bool erase(const Key& key) { return cells_.erase(key) > 0; }

    // Gives its memory back, too.
    void clear() { cells_ = {}; }

  private:
    struct MixedHash : Hash {
        using is_avalanching = void;
    };

    boost::unordered_flat_map<Key, Value, MixedHash> cells_;
};

// Spreads every bit of an integer over all (the finaliser of splitmix64).
constexpr std::uint64_t mix64(std::uint64_t value) {
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
    value = (value ^ value >> 27) * 0x94d049bb133111eb;
    return value ^ value >> 31;
}

}  // namespace exa
