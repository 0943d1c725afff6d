// FlatMap: a hash table in one array, with linear probing and deletion by shifting back (Knuth, TAOCP 3, 6.4 R).
//
// For cores that look things up by the million: nothing is allocated a key, and a look-up reads one or two cache lines.
// There is no iteration, so that no order of the table can reach an outcome.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace exa {

// `Hash`: a function object from Key to std::uint64_t whose low bits differ (see mix64).
template <class Key, class Value, class Hash>
class FlatMap {
  public:
    bool empty() const { return size_ == 0; }
    std::size_t size() const { return size_; }

    // Null when there is none. What a pointer points at stays there until the next put, erase or clear.
    const Value* find(const Key& key) const {
        if (size_ == 0) return nullptr;
        for (std::size_t at = home(key);; at = next(at)) {
            if (!cells_[at].used) return nullptr;
            if (cells_[at].key == key) return &cells_[at].value;
        }
    }
    Value* find(const Key& key) { return const_cast<Value*>(std::as_const(*this).find(key)); }

    // Replaces what stood under the key.
    void put(const Key& key, Value value) {
        if ((size_ + 1) * 4 > cells_.size() * 3) grow();
        std::size_t at = home(key);
        while (cells_[at].used && !(cells_[at].key == key)) at = next(at);
        if (!cells_[at].used) ++size_;
        cells_[at] = {key, std::move(value), true};
    }

    // False when there was none.
    bool erase(const Key& key) {
        if (size_ == 0) return false;
        std::size_t hole = home(key);
        while (cells_[hole].used && !(cells_[hole].key == key)) hole = next(hole);
        if (!cells_[hole].used) return false;
        // Whoever stands behind the hole and would be looked for from before it moves into it.
        for (std::size_t at = next(hole); cells_[at].used; at = next(at)) {
            const std::size_t from_home = (at - home(cells_[at].key)) & (cells_.size() - 1);
            const std::size_t from_hole = (at - hole) & (cells_.size() - 1);
            if (from_home < from_hole) continue;
            cells_[hole] = std::move(cells_[at]);
            hole = at;
        }
        cells_[hole] = {};
        --size_;
        return true;
    }

    // Gives its memory back, too.
    void clear() {
        cells_ = {};
        size_ = 0;
    }

  private:
    struct Cell {
        Key key{};
        Value value{};
        bool used = false;
    };

    std::size_t home(const Key& key) const { return static_cast<std::size_t>(Hash{}(key)) & (cells_.size() - 1); }
    std::size_t next(std::size_t at) const { return (at + 1) & (cells_.size() - 1); }

    void grow() {
        std::vector<Cell> old(cells_.empty() ? 8 : cells_.size() * 2);
        old.swap(cells_);
        for (Cell& cell : old) {
            if (!cell.used) continue;
            std::size_t at = home(cell.key);
            while (cells_[at].used) at = next(at);
            cells_[at] = std::move(cell);
        }
    }

    std::vector<Cell> cells_;  // a power of two of them, a quarter free at least; or none
    std::size_t size_ = 0;
};

// Spreads every bit of an integer over all (the finaliser of splitmix64).
constexpr std::uint64_t mix64(std::uint64_t value) {
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
    value = (value ^ value >> 27) * 0x94d049bb133111eb;
    return value ^ value >> 31;
}

}  // namespace exa
