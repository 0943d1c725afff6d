#include "app/resp/version_search.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace exa::app::resp {

namespace {

// When there are no others, what is here is the last version.
exa::kv::ValueVerdict verdict_of(const exa::kv::KnownValue& known) {
    exa::kv::ValueVerdict verdict;
    verdict.stamp = known.item.stamp;
    verdict.is_local = known.item.stamp != 0;
    verdict.is_removal = known.item.bytes == 0;
    return verdict;
}

}  // namespace

exa::kv::KnownValue RespVersionSearch::known(const exa::kv::SegmentKey& key) {
    exa::kv::KnownValue stored{{key, 0, 0}};
    // What an owner has stored counts anyway; of others it is on the disk only until the owners have it.
    if (const auto found = deps_.disk == nullptr ? std::nullopt : deps_.disk->find(key))
        stored = {{key, found->stamp, found->kind == exa::kv::SegmentKind::value ? found->bytes : 0}, true};
    return cache_.known(stored);
}

void RespVersionSearch::search(const std::vector<exa::kv::SegmentKey>& keys, Then then) {
    std::vector<exa::kv::KnownValue> values;
    values.reserve(keys.size());
    for (const exa::kv::SegmentKey& key : keys) values.push_back(known(key));
    if (deps_.peers == nullptr || !deps_.peers->has_others()) {
        Verdicts verdicts;
        verdicts.reserve(values.size());
        for (const exa::kv::KnownValue& value : values) verdicts.push_back(verdict_of(value));
        return then(verdicts);
    }
    count(counters_.searches);
    deps_.peers->find(std::move(values), guard_.wrap([this, keys, then = std::move(then)](const Verdicts& verdicts) {
        for (std::size_t i = 0; i < keys.size(); ++i) cache_.apply(keys[i], verdicts[i]);
        if (!std::ranges::all_of(verdicts, &exa::kv::ValueVerdict::is_sure)) count(counters_.unsure);
        then(verdicts);
    }));
}

}  // namespace exa::app::resp
