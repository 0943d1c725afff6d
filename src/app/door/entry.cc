#include "app/door/entry.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "app/attach/server.h"
#include "app/door/responses.h"
#include "app/door/traceparent.h"
#include "app/replica/warm_up_header.h"
#include "base/hash.h"
#include "io/random.h"
#include "openai/answer.h"
#include "openai/error.h"
#include "openai/scan.h"
#include "openai/session.h"

namespace exa::app {

namespace {

// Of an answer that has one.
std::string make_response_id(wire::RequestKind kind) {
    switch (kind) {
        case wire::RequestKind::chat:
            return openai::answer_id(openai::Shape::chat, io::random_u64(), io::random_u64());
        case wire::RequestKind::completion:
            return openai::answer_id(openai::Shape::completion, io::random_u64(), io::random_u64());
        case wire::RequestKind::response:
            return openai::random_id("resp_", io::random_u64(), io::random_u64());
        case wire::RequestKind::embedding:
        case wire::RequestKind::tokenize:
        case wire::RequestKind::detokenize:
        case wire::RequestKind::kv:
        case wire::RequestKind::unknown:
            break;
    }
    return {};
}

bool is_about_tokens(wire::RequestKind kind) {
    return kind == wire::RequestKind::tokenize || kind == wire::RequestKind::detokenize;
}

// The one that a request means which names none.
std::optional<std::string> sole_model(const router::RoutingView& view) {
    std::optional<std::string> model;
    for (const router::Pool& pool : view.pools()) {
        if (pool.count == 0) continue;
        if (model && *model != pool.key.model) return std::nullopt;
        model = pool.key.model;
    }
    return model;
}

// But for the body.
wire::Open make_open(io::HttpRequest& request, wire::RequestKind kind, const openai::Scan& scan, std::string model,
                     Caller caller, WallTime wall) {
    wire::Open open;
    open.model = std::move(model);
    open.kind = kind;
    open.tenant = std::move(caller.tenant);
    open.priority = caller.priority;
    open.x_request_id = std::move(request.id);
    open.response_id = make_response_id(kind);
    open.created_unix_s = wall.unix_seconds();
    open.seed = scan.seed ? *scan.seed : io::random_u64();
    open.headers = trace_fields(request.headers);
    const std::size_t target_bytes = request.path.size() + 1 + request.query.size();
    if (!request.query.empty() && target_bytes <= wire::target_bytes_max)
        open.target = request.path + "?" + request.query;
    return open;
}

}  // namespace

Entry::Entry(const EntryConfig& config, Gate& gate, router::Dispatcher& dispatcher, io::LinkPool& links,
             Serving& serving, ViewReader& view, const io::SystemClock& clock, Turn& turn,
             const boost::asio::any_io_executor& executor)
    : parts_{.gate = gate,
             .dispatcher = dispatcher,
             .links = links,
             .serving = serving,
             .view = view,
             .clock = clock,
             .turn = turn,
             .executor = executor,
             .first_byte_timeout = config.first_byte_timeout,
             .idle_timeout = config.idle_timeout,
             .suspect_timeout = config.suspect_timeout},
      hash_only_(config.hash_only),
      warm_up_secret_(config.warm_up_secret),
      sweep_(executor) {}

void Entry::handle(io::HttpRequest request, std::shared_ptr<io::HttpExchange> exchange, wire::RequestKind kind,
                   Caller caller) {
    openai::ApiResult<openai::Scan> scanned = openai::Scan{};
    if (!hash_only_) scanned = openai::scan(request.body);
    if (!scanned) return exchange->push_answer(to_response(scanned.error()));
    const openai::Scan& scan = scanned.value();
    std::string model(hash_only_ ? request.headers.find(model_header).value_or("") : scan.model.text());
    if (model.empty() && (hash_only_ || is_about_tokens(kind)))
        model = sole_model(*parts_.view.load()->routing).value_or("");
    if (model.empty()) return exchange->push_answer(to_response(openai::missing("model")));

    const WallTime wall = parts_.clock.wall();
    const auto warm_up = warm_up_target(request, warm_up_secret_);
    if (!warm_up) {
        const auto admitted = parts_.gate.admit(caller, model, scan.prompt_tokens_estimate);
        if (!admitted) return exchange->push_answer(to_response(admitted.error()));
    }
    const openai::Session session =
        openai::pick_session(request.headers.find("x-session-id").value_or(std::string_view{}), scan);
    const std::uint64_t prefix_hash = hash64(as_bytes(scan.leading));
    wire::Open open = make_open(request, kind, scan, std::move(model), std::move(caller), wall);
    PassedFields passed = passed_fields(request.headers);
    fields_left_out_ += passed.left_out;
    for (wire::HeaderField& field : passed.fields) open.headers.push_back(std::move(field));
    // Behind this the scan's views are void.
    open.body = std::move(request.body);
    const auto journey = std::make_shared<Journey>(parts_, std::move(exchange), std::move(open), epoch_);
    journeys_.push_back(*journey);
    if (!std::exchange(sweeping_, true)) sweep_later();
    if (warm_up) return journey->go_here(*warm_up, false);
    if (is_about_tokens(kind)) {
        // That takes no place of a replica, so that any will do.
        if (const auto replica = parts_.serving.find_ready(journey->open().model, journey->open().tenant))
            return journey->go_here(*replica, true);
    }
    router::RequestMeta meta;
    meta.wall = wall;
    meta.tenant = journey->open().tenant;
    meta.model = journey->open().model;
    meta.session = session.id;
    meta.prefix_hash = prefix_hash;
    meta.prompt_tokens = scan.prompt_tokens_estimate;
    meta.level = static_cast<std::uint32_t>(journey->open().priority);
    meta.resumable = true;
    parts_.dispatcher.handle_view(parts_.view.load()->routing);
    journey->go(parts_.dispatcher.begin(parts_.clock.now(), meta));
}

void Entry::sweep_later() {
    // A quarter of the shortest, so that none is late by more than that.
    const Duration shortest = std::min({parts_.first_byte_timeout, parts_.idle_timeout, parts_.suspect_timeout});
    sweep_.expires_after(std::clamp<Duration>(shortest / 4, std::chrono::milliseconds(5), std::chrono::seconds(1)));
    sweep_.async_wait([this](const boost::system::error_code& code) {
        if (code) return;
        const auto now = Journey::Clock::now();
        for (auto at = journeys_.begin(); at != journeys_.end();) (at++)->check(now);
        sweeping_ = !journeys_.empty();
        if (sweeping_) sweep_later();
    });
}

}  // namespace exa::app
