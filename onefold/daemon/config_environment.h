#pragma once

#include "onefold/daemon/config_reading.h"

/// What the environment changes in a configuration that has been parsed: never its structure.
namespace onefold {

/// Puts the values of `ONEFOLD__TABLE__NAME__KEY` variables in the place of scalar keys. One that
/// names no key is a problem. Comes first: what is replaced need not be interpolated.
void override_keys(toml::table& root, ConfigReading& reading);

/// Replaces `${NAME}`, `${NAME:-otherwise}` and `${NAME:?message}` in every string of the files but
/// those of `sql`, where they are problems: statements must not change with the environment. `$$`
/// becomes a dollar. A variable that is not set is a problem at the place of its string.
void interpolate(toml::table& root, ConfigReading& reading);

}  // namespace onefold
