// detail::Misplaced knows every option that there is, of every group.
#include <cstddef>
#include <utility>

#include <pleat/detail/folder_mistakes.h>
#include <pleat/detail/live_set_mistakes.h>
#include <pleat/detail/presence_mistakes.h>
#include <pleat/detail/rollup_mistakes.h>

using pleat::detail::Misplaced;

// Becomes whatever a member is.
struct Anything {
  template <class T>
  operator T() const;
};

// How many members an aggregate has: the most that a list in braces can give values to.
template <class T, class... Values>
consteval size_t MembersOf(Values... values) {
  if constexpr (requires { T{values..., Anything{}}; }) {
    return MembersOf<T>(values..., Anything{});
  } else {
    return sizeof...(Values);
  }
}

template <class Options, class... Groups>
constexpr bool kKnowsAll =
    MembersOf<Misplaced<Options>>() == MembersOf<Options>() + (MembersOf<Groups>() + ...);

static_assert(MembersOf<pleat::LateOptions>() == 3);
static_assert(kKnowsAll<pleat::FolderOptions, pleat::ClosingOptions, pleat::LateOptions,
                        pleat::LimitOptions, pleat::LeaseOptions, pleat::MeasureOptions>);
static_assert(kKnowsAll<pleat::RollupOptions, pleat::RollupLimits, pleat::LeaseOptions>);
static_assert(kKnowsAll<pleat::LiveSetOptions, pleat::LiveSetLimits>);
static_assert(kKnowsAll<pleat::PresenceOptions, pleat::PresenceLimits>);
