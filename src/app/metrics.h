// GET /metrics: the peer's numbers in Prometheus' text format.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/kv/service.h"
#include "app/replica/local_replicas.h"
#include "app/shared/shared_view.h"
#include "app/thread_metrics.h"

namespace exa::app {

struct MetricsInput {
    std::string peer;  // its name, a label of every sample
    const shared::ControlView& control;
    const replica::LocalReplicas& replicas;
    std::vector<ThreadCounters> threads;  // a sample each, labelled with its number; sums are the scraper's
    std::optional<kv::KvStats> kv{};      // nothing: the peer keeps no KV outside its replicas
    bool api_keys_unused = false;         // the file as it is now cannot be used
    bool certificate_unused = false;      // as now in its files
};

std::string metrics_text(const MetricsInput& input);

}  // namespace exa::app
