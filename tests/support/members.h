// Members and views of a cluster, made by hand for tests of what reads them.
#pragma once

#include <memory>
#include <utility>

#include "membership/view.h"

namespace exa::test {

inline std::shared_ptr<const membership::Member> member_of(
    wire::PeerRecord record, membership::Liveness liveness = membership::Liveness::alive) {
    membership::Member member;
    member.record = std::make_shared<const wire::PeerRecord>(std::move(record));
    member.liveness = liveness;
    return std::make_shared<const membership::Member>(std::move(member));
}

// `members`: sorted by id.
inline std::shared_ptr<const membership::View> view_of(membership::MemberList::Members members) {
    membership::View view;
    view.members = membership::MemberList(std::move(members));
    return std::make_shared<const membership::View>(std::move(view));
}

}  // namespace exa::test
