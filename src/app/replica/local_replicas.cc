#include "app/replica/local_replicas.h"

#include <algorithm>

namespace exa::app::replica {

std::shared_ptr<LocalReplica> LocalReplicas::find(const ReplicaId& id) const {
    const std::shared_ptr<const List> list = list_.load();
    const auto at = std::ranges::find_if(*list, [&](const auto& replica) { return replica->record.id == id; });
    return at == list->end() ? nullptr : *at;
}

}  // namespace exa::app::replica
