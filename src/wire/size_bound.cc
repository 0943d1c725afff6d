// What an item costs in packed form (https://capnproto.org/encoding.html#packing): a tag byte for each word of eight,
// then its bytes that are not zero, and a count byte behind the tags 0x00 and 0xff.
#include "wire/gossip.h"
#include "wire/validate.h"

namespace exa::wire {

namespace {

class Bound {
  public:
    Bound& word(std::uint64_t value) {
        bytes_ += 2;
        for (; value != 0; value >>= 8) bytes_ += (value & 255) != 0 ? 1 : 0;
        return *this;
    }
    // Small fields that share a word.
    Bound& small(std::size_t bytes) {
        bytes_ += 2 + bytes;
        return *this;
    }
    Bound& pointer() { return small(6); }
    Bound& text(const std::string& text) {
        bytes_ += text.size() + 2 * (text.size() / 8 + 1);
        return pointer();
    }
    Bound& replica_ref(const ReplicaId& id) { return word(id.deployment.value).small(4); }
    Bound& endpoint(const Endpoint& endpoint) {
        bytes_ += 4 + 2;
        for (const std::uint8_t byte : endpoint.address) bytes_ += byte != 0 ? 1 : 0;
        return *this;
    }
    std::size_t bytes() const { return bytes_; }

  private:
    std::size_t bytes_ = 0;
};

}  // namespace

std::size_t size_bound(const Fact& fact) {
    return Bound{}
        .word(fact.subject.value)
        .word(fact.generation.value)
        .word(fact.incarnation.value)
        .word(fact.accuser.value)
        .small(2)
        .bytes();
}

std::size_t size_bound(const RecordDelta& delta) {
    Bound bound;
    bound.word(delta.peer.value).word(delta.generation.value).word(delta.incarnation.value);
    bound.word(delta.base).word(delta.version).small(4);
    // Four pointers, and the tag words of three lists.
    for (int i = 0; i < 7; ++i) bound.pointer();
    if (delta.profile) {
        bound.text(delta.profile->name).text(delta.profile->region).text(delta.profile->rack).small(8);
        bound.endpoint(delta.profile->gossip).endpoint(delta.profile->link).endpoint(delta.profile->http);
        bound.pointer().small(6).small(4);
        for (const KeyId& key : delta.profile->keys) bound.word(key.value);
    }
    for (std::size_t i = 0; i < delta.replicas.size(); ++i) {
        const ReplicaRecord& replica = delta.replicas[i];
        bound.small(6);
        // Counts a profile again when deployments are interleaved: an upper bound still.
        if (i > 0 && same_profile(replica, delta.replicas[i - 1])) continue;
        bound.word(replica.id.deployment.value).small(8).small(4);
        bound.text(replica.deployment).text(replica.model).text(replica.version);
        bound.text(replica.tenant_pool).text(replica.role).text(replica.numerics);
    }
    for (const ReplicaId& id : delta.removed) bound.replica_ref(id);
    return bound.bytes();
}

std::size_t size_bound(const LoadGroup& group) {
    Bound bound;
    bound.word(group.peer.value).word(group.generation.value).word(group.number).small(6).pointer().pointer();
    for (const LoadReport& report : group.reports)
        bound.word(report.replica.deployment.value)
            .word(std::uint64_t{report.in_flight} << 32 | report.queued_tokens)
            .small(8)
            .small(4);
    return bound.bytes();
}

std::size_t size_bound(const DigestEntry& entry) {
    return Bound{}
        .word(entry.peer.value)
        .word(entry.generation.value)
        .word(entry.incarnation.value)
        .word(entry.version)
        .small(2)
        .bytes();
}

std::size_t size_bound(const Pull& pull) {
    return Bound{}.word(pull.peer.value).word(pull.generation.value).word(pull.version).bytes();
}

}  // namespace exa::wire
