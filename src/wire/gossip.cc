#include "wire/gossip.h"

#include <capnp/message.h>
#include <capnp/serialize-packed.h>
#include <kj/exception.h>
#include <kj/io.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <tuple>

#include "gossip.capnp.h"
#include "wire/errc.h"
#include "wire/validate.h"

namespace exa::wire {

namespace {

// In words, over all reads of one message. A packed word of zeros takes two bits, so both are also what a hostile
// sender can make us allocate: 64 KiB for a datagram, 8 MiB for a link message.
constexpr std::uint64_t packet_words_max = 8 * 1024;
constexpr std::uint64_t sync_words_max = 1024 * 1024;
constexpr int nesting_max = 8;

std::uint64_t half_of(const Endpoint& endpoint, std::size_t from) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < 8; ++i) value = value << 8 | endpoint.address[from + i];
    return value;
}

Endpoint endpoint_of(std::uint64_t high, std::uint64_t low, std::uint16_t port) {
    Endpoint endpoint;
    for (std::size_t i = 0; i < 8; ++i) {
        endpoint.address[7 - i] = static_cast<std::uint8_t>(high >> (8 * i));
        endpoint.address[15 - i] = static_cast<std::uint8_t>(low >> (8 * i));
    }
    endpoint.port = port;
    return endpoint;
}

kj::StringPtr text_of(const std::string& text) {
    return {text.c_str(), text.size()};
}

std::string string_of(capnp::Text::Reader text) {
    return {text.cStr(), text.size()};
}

unsigned count_of(std::size_t size) {
    return static_cast<unsigned>(size);
}

void write(schema::Header::Builder out, const Header& header) {
    out.setCluster(header.cluster.value);
    out.setSender(header.sender.value);
    out.setGeneration(header.generation.value);
    out.setIncarnation(header.incarnation.value);
    out.setRecordVersion(header.record_version);
    out.setInstance(header.instance);
    out.setVersionMajor(wire_version_major);
    out.setVersionMinor(wire_version_minor);
}

void write(schema::Fact::Builder out, const Fact& fact) {
    out.setSubject(fact.subject.value);
    out.setGeneration(fact.generation.value);
    out.setIncarnation(fact.incarnation.value);
    out.setAccuser(fact.accuser.value);
    out.setState(static_cast<schema::MemberState>(fact.state));
}

void write(schema::PeerProfile::Builder out, const PeerProfile& profile) {
    out.setName(text_of(profile.name));
    out.setRegion(text_of(profile.region));
    out.setRack(text_of(profile.rack));
    out.setGossipHigh(half_of(profile.gossip, 0));
    out.setGossipLow(half_of(profile.gossip, 8));
    out.setGossipPort(profile.gossip.port);
    out.setLinkHigh(half_of(profile.link, 0));
    out.setLinkLow(half_of(profile.link, 8));
    out.setLinkPort(profile.link.port);
    out.setHttpHigh(half_of(profile.http, 0));
    out.setHttpLow(half_of(profile.http, 8));
    out.setHttpPort(profile.http.port);
    out.setState(static_cast<schema::PeerState>(profile.state));
    if (!profile.keys.empty()) {
        auto list = out.initKeys(count_of(profile.keys.size()));
        for (unsigned i = 0; i < list.size(); ++i) list.set(i, profile.keys[i].value);
    }
    out.setPrimaryKey(profile.primary_key.value);
    out.setKvGib(profile.kv_gib);
    out.setNameClaim(profile.name_claim);
    out.setNameSupport(profile.name_support);
}

auto profile_key(const ReplicaRecord& replica) {
    return std::tie(replica.id.deployment, replica.deployment, replica.model, replica.version, replica.tenant_pool,
                    replica.role, replica.numerics, replica.weight, replica.in_flight_limit, replica.context_tokens);
}

struct ProfileNumbers {
    std::vector<const ReplicaRecord*> profiles;  // one replica of each, in order of first appearance
    std::vector<std::uint16_t> of_replica;
};

ProfileNumbers number_profiles(const std::vector<ReplicaRecord>& replicas) {
    ProfileNumbers numbered;
    numbered.of_replica.reserve(replicas.size());
    std::map<decltype(profile_key(replicas[0])), std::uint16_t> numbers;
    for (const ReplicaRecord& replica : replicas) {
        // Replicas are sorted by deployment, so that the one before nearly always has the same.
        if (!numbered.of_replica.empty() && same_profile(replica, *numbered.profiles[numbered.of_replica.back()])) {
            numbered.of_replica.push_back(numbered.of_replica.back());
            continue;
        }
        const auto [at, is_new] =
            numbers.try_emplace(profile_key(replica), static_cast<std::uint16_t>(numbered.profiles.size()));
        if (is_new) numbered.profiles.push_back(&replica);
        numbered.of_replica.push_back(at->second);
    }
    return numbered;
}

void write(schema::ReplicaProfile::Builder out, const ReplicaRecord& replica) {
    out.setDeploymentId(replica.id.deployment.value);
    out.setDeployment(text_of(replica.deployment));
    out.setModel(text_of(replica.model));
    out.setVersion(text_of(replica.version));
    out.setTenantPool(text_of(replica.tenant_pool));
    out.setRole(text_of(replica.role));
    out.setNumerics(text_of(replica.numerics));
    out.setWeight(replica.weight);
    out.setInFlightLimit(replica.in_flight_limit);
    out.setContextTokens(replica.context_tokens);
}

void write(schema::Delta::Builder out, const RecordDelta& delta) {
    out.setPeer(delta.peer.value);
    out.setGeneration(delta.generation.value);
    out.setInstance(delta.instance);
    out.setIncarnation(delta.incarnation.value);
    out.setBase(delta.base);
    out.setVersion(delta.version);
    if (delta.profile) write(out.initProfile(), *delta.profile);
    if (!delta.replicas.empty()) {
        const ProfileNumbers numbered = number_profiles(delta.replicas);
        auto list = out.initReplicaProfiles(count_of(numbered.profiles.size()));
        for (unsigned i = 0; i < list.size(); ++i) write(list[i], *numbered.profiles[i]);
        auto replicas = out.initReplicas(count_of(delta.replicas.size()));
        for (unsigned i = 0; i < replicas.size(); ++i) {
            replicas[i].setProfile(numbered.of_replica[i]);
            replicas[i].setSlot(delta.replicas[i].id.slot);
            replicas[i].setState(static_cast<schema::ReplicaState>(delta.replicas[i].state));
        }
    }
    if (!delta.removed.empty()) {
        auto list = out.initRemoved(count_of(delta.removed.size()));
        for (unsigned i = 0; i < list.size(); ++i) {
            list[i].setDeploymentId(delta.removed[i].deployment.value);
            list[i].setSlot(delta.removed[i].slot);
        }
    }
}

void write(schema::LoadGroup::Builder out, const LoadGroup& group) {
    out.setPeer(group.peer.value);
    out.setGeneration(group.generation.value);
    out.setNumber(group.number);
    out.setPart(group.part);
    out.setAgeMs(static_cast<std::uint32_t>(group.age.count() / 1000));
    auto list = out.initLoads(count_of(group.reports.size()));
    for (unsigned i = 0; i < list.size(); ++i) {
        list[i].setDeploymentId(group.reports[i].replica.deployment.value);
        list[i].setSlot(group.reports[i].replica.slot);
        list[i].setInFlight(group.reports[i].in_flight);
        list[i].setQueuedTokens(group.reports[i].queued_tokens);
        list[i].setKvUsedPermille(group.reports[i].kv_used_permille);
        list[i].setInFlightLimit(group.reports[i].in_flight_limit);
        list[i].setQueued(group.reports[i].queued);
        list[i].setTtftP99Ms(group.reports[i].ttft_p99_ms);
        list[i].setTbtP99Ms(group.reports[i].tbt_p99_ms);
    }
}

void write(schema::DigestEntry::Builder out, const DigestEntry& entry) {
    out.setPeer(entry.peer.value);
    out.setGeneration(entry.generation.value);
    out.setIncarnation(entry.incarnation.value);
    out.setVersion(entry.version);
    out.setState(static_cast<schema::MemberState>(entry.state));
}

void write(schema::Pull::Builder out, const Pull& pull) {
    out.setPeer(pull.peer.value);
    out.setGeneration(pull.generation.value);
    out.setVersion(pull.version);
}

void write(schema::Key::Builder out, const KeyEntry& entry) {
    out.setId(entry.id.value);
    out.setStamp(entry.stamp);
    if (entry.secret) out.setSecret(kj::arrayPtr(entry.secret->data(), entry.secret->size()));
}

template <class List, class T>
void write_all(List list, const std::vector<T>& items) {
    for (unsigned i = 0; i < list.size(); ++i) write(list[i], items[i]);
}

// An empty list costs nothing when it is left out.
template <class Builder, class T>
void write_items(Builder& out, const T& message) {
    if (!message.facts.empty()) write_all(out.initFacts(count_of(message.facts.size())), message.facts);
    if (!message.records.empty()) write_all(out.initRecords(count_of(message.records.size())), message.records);
    if (!message.loads.empty()) write_all(out.initLoads(count_of(message.loads.size())), message.loads);
}

Header read(schema::Header::Reader in) {
    return {ClusterId{in.getCluster()},       PeerId{in.getSender()}, Generation{in.getGeneration()},
            Incarnation{in.getIncarnation()}, in.getRecordVersion(),  in.getInstance()};
}

Fact read(schema::Fact::Reader in) {
    return {PeerId{in.getSubject()}, Generation{in.getGeneration()}, Incarnation{in.getIncarnation()},
            static_cast<MemberState>(in.getState()), PeerId{in.getAccuser()}};
}

Result<PeerProfile> read(schema::PeerProfile::Reader in) {
    if (in.getKeys().size() > keys_held_max) return error(errc::oversized, "keys of a peer");
    PeerProfile profile{string_of(in.getName()),
                        static_cast<PeerState>(in.getState()),
                        endpoint_of(in.getGossipHigh(), in.getGossipLow(), in.getGossipPort()),
                        endpoint_of(in.getLinkHigh(), in.getLinkLow(), in.getLinkPort()),
                        endpoint_of(in.getHttpHigh(), in.getHttpLow(), in.getHttpPort()),
                        string_of(in.getRegion()),
                        string_of(in.getRack()),
                        {},
                        KeyId{in.getPrimaryKey()},
                        in.getKvGib(),
                        in.getNameClaim(),
                        in.getNameSupport()};
    for (const std::uint32_t id : in.getKeys()) profile.keys.push_back(KeyId{id});
    return profile;
}

Result<Keys> read_keys(schema::Sync::Reader in) {
    if (in.getKeys().size() > keys_held_max + keys_removed_max) return error(errc::oversized, "keys");
    Keys keys{{}, KeyId{in.getPrimaryKey()}, in.getPrimaryStamp()};
    for (const auto key : in.getKeys()) {
        KeyEntry entry{KeyId{key.getId()}, key.getStamp(), std::nullopt};
        if (key.hasSecret()) {
            const auto secret = key.getSecret();
            if (secret.size() != sizeof(KeySecret)) return error(errc::malformed, "length of a key");
            std::ranges::copy(secret, entry.secret.emplace().begin());
        }
        keys.entries.push_back(entry);
    }
    return keys;
}

Result<RecordDelta> read(schema::Delta::Reader in) {
    RecordDelta delta;
    delta.peer = PeerId{in.getPeer()};
    delta.generation = Generation{in.getGeneration()};
    delta.instance = in.getInstance();
    delta.incarnation = Incarnation{in.getIncarnation()};
    delta.base = in.getBase();
    delta.version = in.getVersion();
    if (in.hasProfile()) {
        EXA_TRY(delta.profile, read(in.getProfile()));
    }
    const auto profiles = in.getReplicaProfiles();
    const auto replicas = in.getReplicas();
    const auto removed = in.getRemoved();
    if (replicas.size() > replicas_max || profiles.size() > replicas_max || removed.size() > replicas_max)
        return error(errc::oversized, "replicas of a peer");
    std::vector<ReplicaRecord> templates;
    templates.reserve(profiles.size());
    delta.replicas.reserve(replicas.size());
    delta.removed.reserve(removed.size());
    for (const auto profile : profiles) {
        ReplicaRecord& replica = templates.emplace_back();
        replica.id = {delta.peer, DeploymentId{profile.getDeploymentId()}, 0};
        replica.deployment = string_of(profile.getDeployment());
        replica.model = string_of(profile.getModel());
        replica.version = string_of(profile.getVersion());
        replica.tenant_pool = string_of(profile.getTenantPool());
        replica.role = string_of(profile.getRole());
        replica.numerics = string_of(profile.getNumerics());
        replica.weight = profile.getWeight();
        replica.in_flight_limit = profile.getInFlightLimit();
        replica.context_tokens = profile.getContextTokens();
        EXA_TRY(check(replica));
    }
    for (const auto replica : replicas) {
        if (replica.getProfile() >= templates.size()) return error(errc::malformed, "profile of a replica");
        ReplicaRecord& record = delta.replicas.emplace_back(templates[replica.getProfile()]);
        record.id.slot = replica.getSlot();
        record.state = static_cast<ReplicaState>(replica.getState());
    }
    for (const auto id : removed)
        delta.removed.push_back({delta.peer, DeploymentId{id.getDeploymentId()}, id.getSlot()});
    return delta;
}

Result<LoadGroup> read(schema::LoadGroup::Reader in) {
    LoadGroup group;
    group.peer = PeerId{in.getPeer()};
    group.generation = Generation{in.getGeneration()};
    group.number = in.getNumber();
    group.part = in.getPart();
    group.age = std::chrono::milliseconds{in.getAgeMs()};
    const auto loads = in.getLoads();
    if (loads.size() > load_group_max) return error(errc::oversized, "loads in a group");
    group.reports.reserve(loads.size());
    for (const auto load : loads)
        group.reports.push_back({{group.peer, DeploymentId{load.getDeploymentId()}, load.getSlot()},
                                 load.getInFlight(),
                                 load.getQueuedTokens(),
                                 load.getKvUsedPermille(),
                                 group.age,
                                 load.getInFlightLimit(),
                                 load.getQueued(),
                                 load.getTtftP99Ms(),
                                 load.getTbtP99Ms()});
    return group;
}

DigestEntry read(schema::DigestEntry::Reader in) {
    return {PeerId{in.getPeer()}, Generation{in.getGeneration()}, Incarnation{in.getIncarnation()},
            static_cast<MemberState>(in.getState()), in.getVersion()};
}

Pull read(schema::Pull::Reader in) {
    return {PeerId{in.getPeer()}, Generation{in.getGeneration()}, in.getVersion()};
}

template <class Reader, class T>
Result<void> read_items(Reader in, T& message) {
    message.facts.reserve(in.getFacts().size());
    message.records.reserve(in.getRecords().size());
    message.loads.reserve(in.getLoads().size());
    for (const auto fact : in.getFacts()) message.facts.push_back(read(fact));
    for (const auto record : in.getRecords()) {
        EXA_TRY(auto delta, read(record));
        message.records.push_back(std::move(delta));
    }
    for (const auto load : in.getLoads()) {
        EXA_TRY(auto group, read(load));
        message.loads.push_back(std::move(group));
    }
    return success();
}

Result<void> check_belongs(schema::Header::Reader header, ClusterId cluster) {
    if (header.getVersionMajor() != wire_version_major)
        return error(errc::wrong_version, "major " + std::to_string(header.getVersionMajor()));
    if (header.getCluster() != cluster.value) return error(errc::wrong_cluster);
    return success();
}

Result<Packet> read_packet(schema::Packet::Reader in, ClusterId cluster, Mutant mutant) {
    if (mutant != Mutant::cluster_unchecked) {
        EXA_TRY(check_belongs(in.getHeader(), cluster));
    }
    Packet packet;
    packet.header = read(in.getHeader());
    if (in.getKind() > static_cast<std::uint16_t>(PacketKind::gossip)) return error(errc::unknown_kind, "packet");
    packet.kind = static_cast<PacketKind>(in.getKind());
    packet.want_record = in.getWantRecord();
    packet.cannot_link = in.getCannotLink();
    packet.seq = in.getSeq();
    packet.target = PeerId{in.getTarget()};
    packet.target_endpoint = endpoint_of(in.getTargetHigh(), in.getTargetLow(), in.getTargetPort());
    packet.round = in.getRound();
    packet.roster = in.getRoster();
    EXA_TRY(read_items(in, packet));
    EXA_TRY(check(packet));
    return packet;
}

Result<Sync> read_sync(schema::Sync::Reader in, ClusterId cluster) {
    EXA_TRY(check_belongs(in.getHeader(), cluster));
    Sync sync;
    sync.header = read(in.getHeader());
    if (in.getKind() > static_cast<std::uint16_t>(SyncKind::summary)) return error(errc::unknown_kind, "sync");
    sync.kind = static_cast<SyncKind>(in.getKind());
    sync.more = in.getMore();
    sync.want_loads = in.getWantLoads();
    sync.seq = in.getSeq();
    sync.first = PeerId{in.getFirst()};
    sync.last = PeerId{in.getLast()};
    if (in.getDigest().size() > digest_entries_max) return error(errc::oversized, "digest");
    if (in.getPulls().size() > digest_entries_max) return error(errc::oversized, "pulls");
    sync.digest.reserve(in.getDigest().size());
    for (const auto entry : in.getDigest()) sync.digest.push_back(read(entry));
    EXA_TRY(read_items(in, sync));
    for (const auto pull : in.getPulls()) sync.pulls.push_back(read(pull));
    sync.keys_hash = in.getKeysHash();
    if (in.getSummary().size() > summary_parts) return error(errc::oversized, "summary");
    for (const std::uint64_t part : in.getSummary()) sync.summary.push_back(part);
    sync.want_keys = in.getWantKeys();
    EXA_TRY(sync.keys, read_keys(in));
    EXA_TRY(check(sync));
    return sync;
}

// Of a message that is being written or read. As large as what Cap'n Proto would allocate first, so that it lays a
// message out the same, and large enough for every datagram.
using Scratch = std::array<capnp::word, 1024>;

// Packing adds a tag to each word of eight bytes, and a count to some.
constexpr std::size_t packed_bytes_max(std::size_t words) {
    return words * 10;
}

Result<Bytes> packed(capnp::MessageBuilder& message, std::size_t bytes_max) {
    std::array<kj::byte, packed_bytes_max(std::tuple_size_v<Scratch> + 2)> buffer;
    const auto checked = [bytes_max](kj::ArrayPtr<const kj::byte> bytes) -> Result<Bytes> {
        if (bytes.size() > bytes_max)
            return error(errc::too_big_to_send,
                         std::to_string(bytes.size()) + " bytes, at most " + std::to_string(bytes_max));
        return Bytes(bytes.begin(), bytes.end());
    };
    if (packed_bytes_max(capnp::computeSerializedSizeInWords(message)) <= buffer.size()) {
        kj::ArrayOutputStream out(kj::arrayPtr(buffer.data(), buffer.size()));
        capnp::writePackedMessage(out, message);
        return checked(out.getArray());
    }
    kj::VectorOutputStream out;
    capnp::writePackedMessage(out, message);
    return checked(out.getArray());
}

// Calls `read` on the root of the message, with Cap'n Proto's exceptions turned into errc::malformed.
template <class Root, class Message, class Read>
Result<Message> unpacked(ByteView bytes, std::size_t bytes_max, std::uint64_t words_max, Read read_root) {
    if (bytes.size() > bytes_max) return error(errc::oversized, std::to_string(bytes.size()) + " bytes");
    if (bytes.empty()) return error(errc::truncated, "no bytes");
    Result<Message> result = error(errc::malformed);
    const auto exception = kj::runCatchingExceptions([&] {
        kj::ArrayInputStream stream(kj::arrayPtr(bytes.data(), bytes.size()));
        capnp::ReaderOptions options;
        options.traversalLimitInWords = words_max;
        options.nestingLimit = nesting_max;
        Scratch scratch;
        capnp::PackedMessageReader reader(stream, options, kj::arrayPtr(scratch.data(), scratch.size()));
        result = read_root(reader.getRoot<Root>());
        if (result.has_value() && stream.tryGetReadBuffer().size() != 0)
            result = error(errc::malformed, "bytes after the message");
    });
    if (exception != nullptr) return error(errc::malformed);
    return result;
}

}  // namespace

Result<Bytes> encode(const Packet& packet) {
    EXA_TRY(check(packet));
    Scratch scratch{};
    capnp::MallocMessageBuilder message(kj::arrayPtr(scratch.data(), scratch.size()));
    auto out = message.initRoot<schema::Packet>();
    write(out.initHeader(), packet.header);
    out.setKind(static_cast<std::uint16_t>(packet.kind));
    out.setWantRecord(packet.want_record);
    out.setCannotLink(packet.cannot_link);
    out.setSeq(packet.seq);
    out.setTarget(packet.target.value);
    out.setTargetHigh(half_of(packet.target_endpoint, 0));
    out.setTargetLow(half_of(packet.target_endpoint, 8));
    out.setTargetPort(packet.target_endpoint.port);
    out.setRound(packet.round);
    out.setRoster(packet.roster);
    write_items(out, packet);
    return packed(message, packet_bytes_max);
}

Result<Bytes> encode(const Sync& sync) {
    EXA_TRY(check(sync));
    Scratch scratch{};
    capnp::MallocMessageBuilder message(kj::arrayPtr(scratch.data(), scratch.size()));
    auto out = message.initRoot<schema::Sync>();
    write(out.initHeader(), sync.header);
    out.setKind(static_cast<std::uint16_t>(sync.kind));
    out.setMore(sync.more);
    out.setWantLoads(sync.want_loads);
    out.setSeq(sync.seq);
    out.setFirst(sync.first.value);
    out.setLast(sync.last.value);
    if (!sync.digest.empty()) write_all(out.initDigest(count_of(sync.digest.size())), sync.digest);
    write_items(out, sync);
    if (!sync.pulls.empty()) write_all(out.initPulls(count_of(sync.pulls.size())), sync.pulls);
    out.setKeysHash(sync.keys_hash);
    if (!sync.summary.empty()) {
        auto parts = out.initSummary(count_of(sync.summary.size()));
        for (std::size_t i = 0; i < sync.summary.size(); ++i) parts.set(count_of(i), sync.summary[i]);
    }
    out.setWantKeys(sync.want_keys);
    if (!sync.keys.entries.empty()) write_all(out.initKeys(count_of(sync.keys.entries.size())), sync.keys.entries);
    out.setPrimaryKey(sync.keys.primary.value);
    out.setPrimaryStamp(sync.keys.primary_stamp);
    return packed(message, sync_bytes_max);
}

Result<Packet> decode_packet(ByteView bytes, ClusterId cluster, Mutant mutant) {
    return unpacked<schema::Packet, Packet>(bytes, packet_bytes_max, packet_words_max,
                                            [&](auto root) { return read_packet(root, cluster, mutant); });
}

Result<Sync> decode_sync(ByteView bytes, ClusterId cluster) {
    return unpacked<schema::Sync, Sync>(bytes, sync_bytes_max, sync_words_max,
                                        [&](auto root) { return read_sync(root, cluster); });
}

}  // namespace exa::wire
