// RespKeyScan: the keys of a tenant's values at this peer, page by page, as SCAN wants them.
//
// Cursors are the first eight bytes of segment keys: those of one value and of its LMCache twin begin alike, and are in
// one page. 0 is the beginning, and in an answer the end. What stands from the first page to the last is listed once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/resp/deps.h"
#include "app/resp/value_cache.h"
#include "app/resp/version_search.h"
#include "resp/operation.h"

namespace exa::app::resp {

class RespKeyScan {
  public:
    RespKeyScan(const RespDeps& deps, RespValueCache& cache, RespVersionSearch& versions)
        : deps_(deps), cache_(cache), versions_(versions) {}

    // Fills Outcome::cursor and keys by the operation's cursor, count and pattern; `tag` is the tenant's. Blocks on the
    // disk. Thread-safe.
    exa::resp::Outcome scan(const exa::resp::Operation& operation, std::uint64_t tag);
    // All keys that match the operation's pattern, or Outcome::error if there are more than keys_max; likewise.
    exa::resp::Outcome list(exa::resp::Operation operation, std::uint64_t tag);
    // About how many values there are, in Outcome::number: counted up to some ten thousands, beyond that as many as
    // that part of the key space lets expect. A value of several parts counts once for each.
    exa::resp::Outcome count(std::uint64_t tag);

    static constexpr std::size_t keys_max = 100'000;

  private:
    // Of the version that is here, if it is the first part of a live value.
    std::optional<std::string> user_key(const exa::kv::SegmentKey& key, std::uint64_t tag);
    exa::kv::SealedSegment first_part(const exa::kv::Item& item, std::uint64_t tag);

    const RespDeps& deps_;
    RespValueCache& cache_;
    RespVersionSearch& versions_;
};

}  // namespace exa::app::resp
