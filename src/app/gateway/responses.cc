#include "app/gateway/responses.h"

namespace exa::app::gateway {

io::http::HttpResponse to_response(const openai::ApiError& error) {
    io::http::HttpResponse response;
    response.status = error.status;
    response.headers.add("content-type", "application/json");
    for (const openai::Header& header : error.headers()) response.headers.add(header.name, header.value);
    response.body = error.body();
    return response;
}

}  // namespace exa::app::gateway
