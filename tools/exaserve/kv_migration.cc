#include "exaserve/kv_migration.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_from.hpp>
#include <boost/outcome/try.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <thread>
#include <utility>

#include "exaserve/exit_code.h"
#include "exaserve/show.h"

namespace exa::cli {

namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

// Under way from one holder at a time; its queue to a peer takes 4,096.
constexpr std::size_t batch_size = 512;
constexpr std::chrono::milliseconds poll_interval{100};
constexpr std::chrono::seconds stall_max{30};

// Whether the holder has nothing under way to anybody any more.
bool is_done(const ClusterPeer& holder) {
    const auto reply = holder.client.get("kv");
    if (!reply) return true;
    const auto* object = reply.value().if_object();
    const auto* peers = object == nullptr ? nullptr : object->if_contains("peers");
    return peers == nullptr || field_text(*peers, "waiting") == "0";
}

// Gives these to `to` and waits until they are there; how many are.
Outcome<std::size_t> give(const ClusterPeer& holder, const ClusterPeer& to, const std::vector<std::string>& keys,
                          const std::function<void(std::size_t)>& on_progress) {
    const json::object order{{"action", "migrate"}, {"to", to.id}, {"keys", json::value_from(keys)}};
    if (!holder.client.post("kv", order)) return std::size_t{0};
    std::size_t arrived = 0;
    auto deadline = Clock::now() + stall_max;
    while (true) {
        const bool done = is_done(holder);
        BOOST_OUTCOME_TRY(const auto there, keys_on_disk(to, keys));
        if (there.size() > arrived) {
            arrived = there.size();
            deadline = Clock::now() + stall_max;
            on_progress(arrived);
        }
        if (arrived == keys.size() || done || Clock::now() > deadline) return arrived;
        std::this_thread::sleep_for(poll_interval);
    }
}

}  // namespace

Outcome<KvMigrated> migrate(const KvPlaces& places, const ClusterPeer& to, Progress& progress) {
    KvMigrated result{.segments = places.keys.size()};
    std::map<const ClusterPeer*, std::vector<std::string>> by_holder;
    std::size_t wanted = 0;
    for (const std::string& key : places.keys) {
        const ClusterPeer* const holder = places.holder(key);
        if (places.on_disk(key, to)) {
            ++result.were_there;
        } else if (holder == nullptr) {
            ++result.nowhere;
        } else {
            by_holder[holder].push_back(key);
            ++wanted;
        }
    }
    for (const auto& [holder, keys] : by_holder) {
        for (std::size_t from = 0; from < keys.size(); from += batch_size) {
            const auto begin = keys.begin() + static_cast<std::ptrdiff_t>(from);
            const std::vector<std::string> batch(
                begin, begin + static_cast<std::ptrdiff_t>(std::min(batch_size, keys.size() - from)));
            const auto show = [&](std::size_t arrived) {
                progress.show(fmt::format("{} of {} segments have come to {}, now from {}", result.moved + arrived,
                                          wanted, printable(to.name), printable(holder->name)));
            };
            show(0);
            BOOST_OUTCOME_TRY(const std::size_t arrived, give(*holder, to, batch, show));
            result.moved += arrived;
        }
    }
    progress.end();
    result.refused = wanted - result.moved;
    return result;
}

Outcome<std::string> run_migration(const KvOptions& options) {
    BOOST_OUTCOME_TRY(const auto cluster, ClusterClient::open(options.target));
    BOOST_OUTCOME_TRY(const ClusterPeer* const to, cluster.find(options.to));
    BOOST_OUTCOME_TRY(auto keys, find_keys(cluster, options));
    const KvPlaces places = find_places(cluster, std::move(keys));
    if (places.has_value())
        return Failure{exit_usage, "that is a value of the Redis port: it stays with the peers that own its key"};
    Progress progress;
    BOOST_OUTCOME_TRY(const KvMigrated done, migrate(places, *to, progress));
    if (done.refused > 0)
        return Failure{exit_failed, fmt::format("{} of {} segments did not come to {}; again goes on with them",
                                                done.refused, done.segments, printable(to->name))};
    if (options.target.json)
        return json::serialize(json::object{{"to", to->id},
                                            {"segments", done.segments},
                                            {"moved", done.moved},
                                            {"were_there", done.were_there},
                                            {"nowhere", done.nowhere}}) +
               "\n";
    return fmt::format("{} of {} segments are on {}: {} moved, {} were there{}\n", done.moved + done.were_there,
                       done.segments, printable(to->name), done.moved, done.were_there,
                       done.nowhere > 0 ? fmt::format("; {} are on no disk", done.nowhere) : "");
}

}  // namespace exa::cli
