// A batch refers to its keys; a string made for one event would be gone before the batch is folded.
#include <string>
#include <string_view>
#include <vector>

#include <pleat/folder.h>

using Event = pleat::KeyedEvent<int>;

struct Named {
  operator std::string_view() const { return "a class that converts"; }
};

std::vector<Event> Use(int i, const char* c_string, std::string_view view, const Named& named) {
#ifdef MISUSE
  return {{"id" + std::to_string(i), pleat::EngineTime(), i}};
#else
  static std::string kept;
  kept = "id" + std::to_string(i);
  const std::string& constant = kept;
  std::vector<Event> events = {{"literal", pleat::EngineTime(), i},
                               {.key = kept, .at = pleat::EngineTime(), .event = i},
                               {.key = constant},
                               {.key = c_string},
                               {.key = view},
                               {.key = view.substr(1)},
                               {.key = {c_string, 1}},
                               {.key = named},
                               {}};
  events.back().key = kept;
  view = events.back().key;
  return events;
#endif
}
