// KvAdmin: carries out what an operator wants of the KV cache of one peer, and answers in JSON.
//
//   LocateKey                {"key","memory","disk":null or {"bytes","tenant","kind"}}
//   LocateKeys               {"segments":[the same of each]}
//   LocateRequest            the same of each whole segment of the request
//   LocateSession            the same of each segment that a replica here has answered
//   LocateReplica            {"segments","next"}: of a replica's sessions, up to 4096 at a time; "next" is null at the
//                            end
//   LocateValue              as LocateKey
//   GetSegment               {"key","parent","tenant","tokens","kind","payload"}
//   PutValue                 {"key","outcome"}: what is put is a value, so that no replica takes it for KV
//   DeleteSegment            {"key","deleted"}
//   VerifyDisk               {"checked","dropped","next"}: a part of a round over the disk; "next" is null at the end
//   ShowQuota, SetQuota      {"tenant","bytes","gib","set"}: what is stored, and what may be stored at most, 0 for no
//                            bound; "set" is false where kv.tenant_quota_gib says it
//   ListQuotas               {"gib","tenants":[the same of each that a command set]}: "gib" is kv.tenant_quota_gib
//   MigrateSegments          {"queued"}: how many of them are stored here and on their way to that peer
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

#include "app/admin/kv_command.h"
#include "app/kv/service.h"
#include "app/replica/local_replicas.h"
#include "base/crypto.h"
#include "io/store/segment_store.h"
#include "openai/error.h"

namespace exa::app::admin {

// Thread-safe.
class KvAdmin {
  public:
    using Answer = openai::ApiResult<boost::json::value>;
    using Done = std::function<void(Answer)>;

    // Without a service every command is refused. `quota_gib`: kv.tenant_quota_gib.
    KvAdmin(const Crypto& crypto, Bytes root_secret, std::shared_ptr<kv::KvService> service,
            std::shared_ptr<const replica::LocalReplicas> replicas, std::uint32_t quota_gib = 0)
        : crypto_(crypto),
          root_secret_(std::move(root_secret)),
          service_(std::move(service)),
          replicas_(std::move(replicas)),
          quota_gib_(quota_gib) {}

    // Nothing without a service.
    std::optional<kv::KvStats> stats() const;

    // Calls `done` once, here or from a thread of the service; never when the service stops meanwhile.
    void run(KvCommand command, Done done) const;

  private:
    // One for each command, on a thread that may block on the disk.
    Answer handle(const LocateKey& command) const;
    Answer handle(const LocateKeys& command) const;
    Answer handle(const LocateRequest& command) const;
    Answer handle(const LocateSession& command) const;
    Answer handle(const LocateReplica& command) const;
    Answer handle(const LocateValue& command) const;
    Answer handle(const GetSegment& command) const;
    Answer handle(const PutValue& command) const;
    Answer handle(const DeleteSegment& command) const;
    Answer handle(const VerifyDisk& command) const;
    Answer handle(const ShowQuota& command) const;
    Answer handle(const SetQuota& command) const;
    Answer handle(const ListQuotas& command) const;
    // Answered by the one that does it.
    void handle(const MigrateSegments& command, const Done& done) const;

    boost::json::object places(std::span<const exa::kv::SegmentKey> keys) const;
    boost::json::value quota_json(const io::store::SegmentStore& disk, const std::string& tenant) const;
    std::uint64_t tag_of(const std::string& tenant) const;

    const Crypto& crypto_;
    const Bytes root_secret_;
    const std::shared_ptr<kv::KvService> service_;
    const std::shared_ptr<const replica::LocalReplicas> replicas_;
    const std::uint32_t quota_gib_;
    // What commands have set; the store knows tenants by their tags only.
    mutable std::mutex quotas_mutex_;
    mutable std::map<std::string, std::uint32_t> quotas_;
};

}  // namespace exa::app::admin
