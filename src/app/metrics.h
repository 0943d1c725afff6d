// GET /metrics: the peer's numbers in Prometheus' text format.
#pragma once

#include <string>

#include "app/local_replicas.h"
#include "app/serving.h"
#include "app/shared_view.h"
#include "io/http/server.h"
#include "io/link/config.h"
#include "router/dispatcher.h"

namespace exa::app {

// Of the data-plane thread that answers; sums over threads are the scraper's.
struct MetricsInput {
    std::string peer;  // its name, a label of every sample
    unsigned thread = 0;
    const ControlView& control;
    const LocalReplicas& replicas;
    const ServingStats& serving;
    const router::Counters& dispatcher;
    io::HttpStats http;
    io::LinkStats links_dialled;
    io::LinkStats links_accepted;
};

std::string metrics_text(const MetricsInput& input);

}  // namespace exa::app
