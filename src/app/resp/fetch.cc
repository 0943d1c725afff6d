#include "app/resp/fetch.h"

#include <memory>
#include <utility>
#include <vector>

#include "app/resp/value.h"

namespace exa::app::resp {

namespace {

struct Bringing {
    RespVersion version;
    bool failed = false;
    RespFetched done;
};

void fetch_rest(kv::KvPeers& peers, RespVersion version, RespFetched done) {
    std::vector<exa::kv::SegmentKey> chain(version.keys.begin() + 1, version.keys.end());
    std::vector<bool> held(chain.size());
    const auto bringing = std::make_shared<Bringing>(std::move(version), false, std::move(done));
    peers.load(std::move(chain), std::move(held), {.may_be_cold = false},
               [bringing](const kv::KvPeers::Arrival& arrival) {
                   const exa::kv::SealedSegment& part = arrival.segment;
                   if (part) {
                       bringing->failed = bringing->failed || !add_resp_part(bringing->version, part);
                       return true;
                   }
                   const bool is_whole = !bringing->failed && is_resp_whole(bringing->version);
                   bringing->done(is_whole ? std::optional(std::move(bringing->version)) : std::nullopt);
                   return false;
               });
}

}  // namespace

void fetch_resp_value(kv::KvPeers& peers, const Crypto& crypto, RespFetch fetch, RespFetched done) {
    const exa::kv::Item item{fetch.key, fetch.verdict.stamp, 0};
    std::vector<PeerId> holders = fetch.verdict.holders;
    peers.fetch(
        item, std::move(holders),
        [&peers, &crypto, fetch = std::move(fetch), done = std::move(done)](const exa::kv::SealedSegment& first) {
            // A removal that has come since is a miss, too.
            auto version = first ? resp_version_of(crypto, fetch.key, fetch.user_key, first) : std::nullopt;
            if (!version || fetch.first_part_only) return done(std::move(version));
            const std::uint64_t rest = (version->keys.size() - 1) * resp_part_bytes_max;
            auto memory = fetch.reserve(first->size() + rest);
            if (!memory) return done(std::nullopt);
            version->parts[0] = {version->parts[0].get(),
                                 [part = version->parts[0], memory = std::move(memory)](auto*) {}};
            if (rest == 0) return done(is_resp_whole(*version) ? std::move(version) : std::nullopt);
            fetch_rest(peers, std::move(*version), done);
        });
}

}  // namespace exa::app::resp
