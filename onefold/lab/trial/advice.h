#pragma once

#include <string>
#include <string_view>

#include "onefold/lab/trial/trial.h"

namespace onefold::lab {

/// What a team can do about a failure of this kind with this cause.
std::string advice_for(std::string_view kind, std::string_view cause, const TrialSpec& spec);

}  // namespace onefold::lab
