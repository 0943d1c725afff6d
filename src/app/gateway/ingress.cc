#include "app/gateway/ingress.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "app/attach/server.h"
#include "app/gateway/responses.h"
#include "app/gateway/traceparent.h"
#include "app/replica/warm_up_header.h"
#include "base/hash.h"
#include "io/random.h"
#include "openai/answer.h"
#include "openai/error.h"
#include "openai/scan.h"
#include "openai/session.h"

namespace exa::app::gateway {

namespace {

// Empty for kinds whose answers have no id.
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

// Of a body: its length, its beginning as routing reads it, and its end, where a conversation's last message is.
std::uint64_t fingerprint_of(std::string_view body, std::uint64_t prefix_hash) {
    constexpr std::size_t end_bytes = 1024;
    const std::string_view end = body.substr(body.size() - std::min(body.size(), end_bytes));
    return hash64(hash64(as_bytes(end), prefix_hash), body.size());
}

bool is_about_tokens(wire::RequestKind kind) {
    return kind == wire::RequestKind::tokenize || kind == wire::RequestKind::detokenize;
}

// The model of a request that names none, if the cluster serves only one.
std::optional<std::string> sole_model(const router::RoutingView& view) {
    std::optional<std::string> model;
    for (const router::Pool& pool : view.pools()) {
        if (pool.count == 0) continue;
        if (model && *model != pool.key.model) return std::nullopt;
        model = pool.key.model;
    }
    return model;
}

// All but the body.
wire::Open make_open(io::http::HttpRequest& request, wire::RequestKind kind, const openai::Scan& scan,
                     std::string model, access::Caller caller, WallTime wall) {
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

Ingress::Ingress(const IngressConfig& config, access::Authorizer& authorizer, router::Dispatcher& dispatcher,
                 io::link::LinkPool& links, Receiver& receiver, shared::ViewReader& view,
                 const io::clock::SystemClock& clock, ReadyQueue& ready, const boost::asio::any_io_executor& executor)
    : deps_{.authorizer = authorizer,
            .dispatcher = dispatcher,
            .links = links,
            .receiver = receiver,
            .view = view,
            .clock = clock,
            .ready = ready,
            .executor = executor,
            .config = config.request},
      hash_only_(config.hash_only),
      warm_up_secret_(config.warm_up_secret),
      sweep_(executor) {}

openai::ApiResult<void> Ingress::check_head(const io::http::HttpHeaders& headers, const access::Caller& caller) const {
    const std::string_view model = headers.find(model_header).value_or("");
    if (!hash_only_ || model.empty() || deps_.authorizer.may_use(caller, model)) return boost::outcome_v2::success();
    return openai::forbidden("may not use the model '" + std::string(model) + "'");
}

void Ingress::handle(io::http::HttpRequest request, std::shared_ptr<io::http::HttpExchange> exchange,
                     wire::RequestKind kind, access::Caller caller) {
    openai::ApiResult<openai::Scan> scanned = openai::Scan{};
    if (!hash_only_) scanned = openai::scan(request.body);
    if (!scanned) return exchange->push_answer(to_response(scanned.error()));
    const openai::Scan& scan = scanned.value();
    std::string model(hash_only_ ? request.headers.find(model_header).value_or("") : scan.model.text());
    if (model.empty() && (hash_only_ || is_about_tokens(kind)))
        model = sole_model(*deps_.view.load()->routing).value_or("");
    if (model.empty()) return exchange->push_answer(to_response(openai::missing("model")));

    const WallTime wall = deps_.clock.wall();
    const auto warm_up = replica::warm_up_target(request, warm_up_secret_);
    if (!warm_up) {
        const auto admitted = deps_.authorizer.admit(caller, model, scan.prompt_tokens_estimate);
        if (!admitted) return exchange->push_answer(to_response(admitted.error()));
    }
    const openai::Session session =
        openai::pick_session(request.headers.find("x-session-id").value_or(std::string_view{}), scan);
    const std::uint64_t prefix_hash = hash64(as_bytes(scan.leading));
    const std::uint64_t fingerprint = fingerprint_of(request.body, prefix_hash);
    wire::Open open = make_open(request, kind, scan, std::move(model), std::move(caller), wall);
    attach::PassedFields passed = attach::passed_fields(request.headers);
    fields_left_out_ += passed.left_out;
    for (wire::HeaderField& field : passed.fields) open.headers.push_back(std::move(field));
    // From here on the scan's views are void.
    open.body = std::move(request.body);
    const auto driver = std::make_shared<RequestDriver>(deps_, std::move(exchange), std::move(open), in_flight_);
    requests_.push_back(*driver);
    if (!std::exchange(sweeping_, true)) sweep_later();
    if (warm_up) return driver->start_at(*warm_up, false);
    if (is_about_tokens(kind)) {
        // That takes no permit of a replica, so any will do.
        if (const auto replica = deps_.receiver.find_ready(driver->open().model, driver->open().tenant))
            return driver->start_at(*replica, true);
    }
    driver->start({.wall = wall,
                   .session = session.id,
                   .prefix_hash = prefix_hash,
                   .prompt_tokens = scan.prompt_tokens_estimate,
                   .fingerprint = fingerprint});
}

void Ingress::sweep_later() {
    // A quarter of the shortest, so that none is late by more than that.
    const exa::gateway::Config& config = deps_.config;
    const Duration shortest = std::min({config.first_byte_timeout, config.idle_timeout, config.suspect_timeout});
    sweep_.expires_after(std::clamp<Duration>(shortest / 4, std::chrono::milliseconds(5), std::chrono::seconds(1)));
    sweep_.async_wait([this](const boost::system::error_code& code) {
        if (code) return;
        const TimePoint now = deps_.clock.now();
        for (auto at = requests_.begin(); at != requests_.end();) (at++)->check(now);
        sweeping_ = !requests_.empty();
        if (sweeping_) sweep_later();
    });
}

}  // namespace exa::app::gateway
