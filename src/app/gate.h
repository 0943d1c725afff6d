// Gate: who a request comes from, and whether it may come in. Every request passes it once, before any of it is routed.
#pragma once

#include <string>
#include <string_view>

#include "app/address.h"
#include "app/routes.h"
#include "io/http/message.h"
#include "openai/error.h"
#include "wire/link_messages.h"

namespace exa::app {

// Who asks.
struct Caller {
    std::string tenant;  // empty: anonymous
    wire::Priority priority = wire::Priority::normal;
};

// Thread-safe; called by every data-plane thread.
class Gate {
  public:
    virtual ~Gate() = default;

    // By what the headers say; the error is the answer.
    virtual openai::ApiResult<Caller> check(const io::HttpRequest& request, const Route& route) = 0;

    // For one answer of `model`, as soon as the body has named it; the error is the answer.
    virtual openai::ApiResult<void> admit(const Caller& caller, std::string_view model) = 0;
};

// Lets everybody use the API, without a tenant. Orders come from this machine, and from no web page: a browser names
// the page that a request comes from.
class OpenGate final : public Gate {
  public:
    openai::ApiResult<Caller> check(const io::HttpRequest& request, const Route& route) override {
        if (route.access != Access::operators) return Caller{};
        if (is_loopback(request.remote) && !request.headers.find("origin")) return Caller{};
        openai::ApiError error = openai::unauthorized();
        error.status = 403;
        error.message = "operator's orders are taken from loopback addresses only, and from no web page";
        return error;
    }

    openai::ApiResult<void> admit(const Caller&, std::string_view) override { return boost::outcome_v2::success(); }
};

}  // namespace exa::app
