// A batch is of events with their keys and stamps; who hands over bare events is told so.
#include <array>
#include <vector>

#include <pleat/folder.h>

struct State {
  void Fold(const int&) noexcept {}
};

#ifdef MISUSE
using Item = int;
#else
using Item = pleat::KeyedEvent<int>;
#endif

void Use(pleat::Folder<int, State>& folder, std::vector<Item>& items,
         const std::array<Item, 3>& array) {
  std::vector<pleat::FoldOutcome> outcomes(items.size());
  folder.FoldBatch(items, outcomes);
  folder.FoldBatch(array);
  folder.FoldBatch({items.data(), items.size()});
}
