#include "app/resp/version.h"

#include <algorithm>
#include <utility>

#include "app/resp/value.h"
#include "io/random.h"

namespace exa::app::resp {

namespace {

std::shared_ptr<exa::kv::SegmentBuffer> keep(const exa::kv::SealedSegment& segment) {
    // Nobody writes to what has come sealed.
    return std::const_pointer_cast<exa::kv::SegmentBuffer>(segment);
}

}  // namespace

RespVersion resp_removal(const exa::kv::SegmentKey& key, std::uint64_t stamp, std::uint64_t tag) {
    RespVersion version;
    version.parts.push_back(std::make_shared<exa::kv::SegmentBuffer>(exa::kv::segment_header_size));
    version.keys.push_back(key);
    version.stamp = stamp;
    version.tag = tag;
    version.bytes = exa::kv::whole_blocks(exa::kv::segment_header_size);
    version.is_removal = true;
    version.sealing = std::make_shared<std::once_flag>();
    return version;
}

void seal_resp(const RespVersion& version, const exa::kv::SegmentSealer& sealer) {
    if (!version.sealing) return;
    std::call_once(*version.sealing, [&] {
        exa::kv::SegmentHead head;
        head.stamp = version.stamp;
        head.tenant = version.tag;
        head.kind = version.is_removal ? exa::kv::SegmentKind::tombstone : exa::kv::SegmentKind::value;
        // Up, so that the index never drops what is still good.
        head.expires_s = static_cast<std::uint64_t>((std::max<std::int64_t>(version.expires_ms, 0) + 999) / 1000);
        for (std::size_t i = 0; i < version.parts.size(); ++i) {
            head.key = version.keys[i];
            head.nonce = io::random_nonce();
            sealer.seal(head, *version.parts[i]);
        }
    });
}

std::optional<RespVersion> resp_version_of(const Crypto& crypto, const exa::kv::SegmentKey& key,
                                           std::string_view user_key, const exa::kv::SealedSegment& first) {
    const auto segment = exa::kv::parse_segment(first->view());
    if (!segment || segment.value().kind != exa::kv::SegmentKind::value) return std::nullopt;
    const auto head = read_resp_head(exa::kv::payload_of(first->view()));
    if (!head || head->key != user_key || head->parts > head->bytes / resp_part_bytes_max + 1) return std::nullopt;
    RespVersion version;
    version.stamp = segment.value().stamp;
    version.tag = segment.value().tenant;
    version.expires_ms = head->expires_ms;
    version.bytes = first->size();
    version.parts.push_back(keep(first));
    for (std::uint32_t i = 0; i < head->parts; ++i)
        version.keys.push_back(resp_part_key(crypto, key, version.stamp, i));
    return version;
}

bool add_resp_part(RespVersion& version, const exa::kv::SealedSegment& part) {
    const auto head = exa::kv::parse_segment(part->view());
    if (!head || head.value().kind != exa::kv::SegmentKind::value || head.value().stamp != version.stamp) return false;
    version.bytes += part->size();
    version.parts.push_back(keep(part));
    return true;
}

bool is_resp_whole(const RespVersion& version) {
    if (version.parts.size() != version.keys.size()) return false;
    const auto head = read_resp_head(exa::kv::payload_of(std::as_const(*version.parts[0]).view()));
    return head && resp_view(version).size() == head->bytes;
}

exa::resp::Value resp_view(const RespVersion& version) {
    exa::resp::Value view;
    for (std::size_t i = 0; i < version.parts.size(); ++i) {
        ByteView bytes = exa::kv::payload_of(std::as_const(*version.parts[i]).view());
        if (i == 0) bytes = read_resp_head(bytes)->data;
        view.pieces.push_back({version.parts[i], bytes});
    }
    return view;
}

}  // namespace exa::app::resp
