// KvAdmin: what an operator does by hand with the KV cache of one peer.
//
//   POST /exaserve/v1/kv {"action":"locate","key"}            {"key","memory","disk":null or {"bytes","tenant","kind"}}
//                        {"action":"locate","request","tenant"}  {"segments":[the same of each whole segment]}
//                        {"action":"locate","keys":[...]}     {"segments":[the same of each]}
//                        {"action":"locate","session"}        the same of a session that a replica here has answered,
//                        by its position on the ring (GET route)
//                        {"action":"locate","replica"[,"after"]}  {"segments","next"}: the same of a replica's
//                        sessions, up to 4096 at a time; "after" is the "next" of the part before, which is null at the
//                        end
//                        {"action":"locate","value","tenant"} the same of a value of the Redis port, by its key there
//                        {"action":"get","key"}               {"key","parent","tenant","tokens","kind","payload"}
//                        {"action":"put","key","payload"}     {"key","outcome"}
//                        {"action":"delete","key"}            {"key","deleted"}
//                        {"action":"verify"[,"after"]}         {"checked","dropped","next"}: a part of a round over
//                        the disk; "after" is the "next" of the part before, which is null at the end
//                        {"action":"quota","tenant"[,"gib"]}  {"tenant","bytes","gib","set"}: what is there, and what
//                        may be there at most, 0 for no bound; "set" is false where kv.tenant_quota_gib says it. With
//                        "gib" from now on, 0 for kv.tenant_quota_gib
//                        {"action":"quota","all":true}        {"gib","tenants":[the same of each that an order set]}:
//                        "gib" is kv.tenant_quota_gib
//                        {"action":"migrate","keys":[...],"to"}  {"queued"}: as many of them are stored here and on
//                        their way to the peer of that id
//
// A request is the body of a chat, a completion or a response. Keys are 64 hexadecimal digits, up to 4096 of them,
// payloads base64, an empty tenant is the anonymous one. What is put is a value: no replica takes it for KV.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/kv/service.h"
#include "app/kv/sessions.h"
#include "app/replica/local_replicas.h"
#include "base/crypto.h"
#include "base/ids.h"
#include "openai/error.h"

namespace exa::app {

enum class KvAction : std::uint8_t { locate, get, put, erase, verify, quota, migrate };

struct KvOrder {
    KvAction action = KvAction::locate;
    kv::SegmentKey key;                    // of the first four
    std::vector<kv::SegmentKey> keys;      // locate, instead of `key`; migrate
    PeerId to;                             // migrate
    std::string request;                   // locate; empty: by what follows, or by key
    std::optional<std::uint64_t> session;  // locate
    std::optional<ReplicaId> replica;      // locate
    KvSessions::Place from;                // locate by replica
    std::optional<std::string> value;      // locate
    std::optional<kv::SegmentKey> after;   // verify
    Bytes payload;                         // put
    std::string tenant;                    // locate by request or value, quota
    std::optional<std::uint32_t> gib;      // quota; nothing: only tell
    bool all = false;                      // quota: of all tenants that have their own
};

openai::ApiResult<KvOrder> parse_kv_order(std::string_view body);

// Thread-safe.
class KvAdmin {
  public:
    using Done = std::function<void(openai::ApiResult<boost::json::value>)>;

    // `crypto` outlives it. Without a service every order is refused. `quota_gib`: kv.tenant_quota_gib.
    KvAdmin(const Crypto& crypto, Bytes root_secret, std::shared_ptr<KvService> service,
            std::shared_ptr<const LocalReplicas> replicas, std::uint32_t quota_gib = 0)
        : crypto_(crypto),
          root_secret_(std::move(root_secret)),
          service_(std::move(service)),
          replicas_(std::move(replicas)),
          quota_gib_(quota_gib) {}

    // Nothing without a service.
    std::optional<KvStats> stats() const;

    // Calls `done` once, here or from a thread of the service.
    void run(KvOrder order, Done done) const;

  private:
    openai::ApiResult<boost::json::value> execute(const KvOrder& order) const;
    void migrate(KvOrder order, Done done) const;
    openai::ApiResult<boost::json::value> locate(const KvOrder& order) const;
    boost::json::object places(std::span<const kv::SegmentKey> keys) const;
    openai::ApiResult<boost::json::value> get(const kv::SegmentKey& key) const;
    boost::json::value put(const KvOrder& order) const;
    openai::ApiResult<boost::json::value> quota(const KvOrder& order) const;
    boost::json::value quota_json(const io::SegmentStore& disk, const std::string& tenant) const;
    std::uint64_t tag_of(const std::string& tenant) const;

    const Crypto& crypto_;
    const Bytes root_secret_;
    const std::shared_ptr<KvService> service_;
    const std::shared_ptr<const LocalReplicas> replicas_;
    const std::uint32_t quota_gib_;
    // What orders have set; the store knows tenants by their tags only.
    mutable std::mutex quotas_mutex_;
    mutable std::map<std::string, std::uint32_t> quotas_;
};

}  // namespace exa::app
