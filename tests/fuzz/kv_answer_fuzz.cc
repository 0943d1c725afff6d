// A question of another peer, whatever it is, and its answer as it comes back, cut anywhere: the answer ends in a
// refusal or in parts that a replicator takes, no more of them than items were asked for, and a replicator that gets
// any bytes at all for an answer ends its fetch.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "kv/holdings.h"
#include "membership/view.h"
#include "node/kv_answer.h"
#include "node/kv_replicator.h"

namespace {

using namespace exa;

struct Nothing final : kv::Holdings {
    std::optional<kv::Item> find(const kv::SegmentKey&) const override { return std::nullopt; }
    std::vector<kv::Item> list(const std::optional<kv::SegmentKey>&, std::size_t) const override { return {}; }
};

std::shared_ptr<const membership::View> three_peers() {
    std::vector<std::shared_ptr<const membership::Member>> members;
    for (std::uint64_t id = 1; id <= 3; ++id) {
        auto record = std::make_shared<wire::PeerRecord>();
        record->id = PeerId{id};
        record->kv_gib = 1;
        record->state = wire::PeerState::serving;
        members.push_back(std::make_shared<const membership::Member>(
            membership::Member{std::move(record), membership::Liveness::alive, {}, {}}));
    }
    auto view = std::make_shared<membership::View>();
    view->members = membership::MemberList(std::move(members));
    return view;
}

void answer_anything(std::string_view bytes) {
    node::KvAnswer answer(bytes);
    std::size_t reads = 0;
    std::size_t parts = 0;
    for (;;) {
        while (const auto work = answer.poll_work()) {
            if (const auto* lookup = std::get_if<node::KvAnswer::Lookup>(&*work))
                answer.handle_items(std::vector<kv::Item>(lookup->keys.size()));
            else if (const auto* offer = std::get_if<node::KvAnswer::Offer>(&*work))
                answer.handle_outcomes(std::string(offer->question.items.size(), '\0'));
            else if (++reads <= kv::question_items_max)
                answer.handle_read(nullptr);
        }
        const auto part = answer.poll_part();
        if (!part) std::abort();
        if (std::holds_alternative<node::KvAnswer::End>(*part)) break;
        if (++parts > kv::question_items_max) std::abort();
    }
    if (answer.poll_part() || answer.poll_work()) std::abort();
}

void take_anything(const std::uint8_t* data, std::size_t size) {
    static const auto view = three_peers();
    const Nothing holdings;
    node::KvReplicator replicator(PeerId{1}, holdings, {});
    TimePoint now{std::chrono::seconds{100}};
    replicator.handle_view(now, view);
    replicator.fetch_chain(now, std::vector<kv::SegmentKey>(3), std::vector<bool>(3));
    bool is_over = false;
    std::size_t at = 0;
    for (int turn = 0; turn < 100 && !is_over; ++turn) {
        while (auto action = replicator.poll_action()) {
            is_over = is_over || std::holds_alternative<kv::Exchange::FetchOver>(*action);
            const auto* send = std::get_if<kv::Exchange::Send>(&*action);
            if (send == nullptr) continue;
            while (at < size) {
                const std::size_t cut = std::min<std::size_t>(1 + data[at] % 64, size - at);
                const std::string_view part(reinterpret_cast<const char*>(data) + at, cut);
                at += cut;
                if (cut == 1 || !replicator.handle_bytes(now, send->id, part)) break;
                replicator.handle_segment(now, send->id, data[at - 1], {});
            }
            replicator.handle_end(now, send->id);
        }
        now = std::max(now, std::min(replicator.next_timeout(), now + std::chrono::hours{1}));
        replicator.handle_timeout(now);
    }
    if (!is_over) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    answer_anything({reinterpret_cast<const char*>(data), size});
    take_anything(data, size);
    return 0;
}
