// For ThreadSanitizer, which knows the threads and locks of POSIX, and not those of C11, as librdkafka
// has them: a thread that it does not know crashes it. In glibc both are one, but for their names.
// Debian's librdkafka is not compiled for it either. So nobody sees that its counts of references are atomic,
// and whoever lets go last seems to destroy a lock, or to free memory, that others have: that is left out. What
// is ours is freed by operator delete.
#include <pthread.h>
#include <threads.h>

#include <cerrno>
#include <cstdint>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PLEAT_C11_THREADS
#endif
#endif

#ifdef PLEAT_C11_THREADS
namespace {

struct Start {
  thrd_start_t function;
  void* argument;
};

pthread_mutex_t* Posix(mtx_t* mutex) { return reinterpret_cast<pthread_mutex_t*>(mutex); }
pthread_cond_t* Posix(cnd_t* condition) { return reinterpret_cast<pthread_cond_t*>(condition); }
int Answer(int error) {
  if (error == 0) return thrd_success;
  if (error == EBUSY) return thrd_busy;
  return error == ETIMEDOUT ? thrd_timedout : thrd_error;
}

}  // namespace

#define PLEAT_EXPORTED __attribute__((visibility("default")))
extern "C" {

PLEAT_EXPORTED const char* __tsan_default_suppressions() {  // NOLINT: the sanitizer asks for it
  return "race:pthread_rwlock_destroy\nrace_top:free\n";
}

PLEAT_EXPORTED int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  const auto run = [](void* given) -> void* {
    const Start start = *static_cast<Start*>(given);
    delete static_cast<Start*>(given);
    return reinterpret_cast<void*>(static_cast<intptr_t>(start.function(start.argument)));
  };
  return Answer(pthread_create(thread, nullptr, run, new Start{function, argument}));
}
PLEAT_EXPORTED int thrd_join(thrd_t thread, int* result) {
  void* value = nullptr;
  const int error = pthread_join(thread, &value);
  if (result != nullptr) *result = static_cast<int>(reinterpret_cast<intptr_t>(value));
  return Answer(error);
}
PLEAT_EXPORTED int mtx_init(mtx_t* mutex, int type) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  if ((type & mtx_recursive) != 0) pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  return Answer(pthread_mutex_init(Posix(mutex), &attributes));
}
PLEAT_EXPORTED int mtx_lock(mtx_t* mutex) { return Answer(pthread_mutex_lock(Posix(mutex))); }
PLEAT_EXPORTED int mtx_trylock(mtx_t* mutex) { return Answer(pthread_mutex_trylock(Posix(mutex))); }
PLEAT_EXPORTED int mtx_unlock(mtx_t* mutex) { return Answer(pthread_mutex_unlock(Posix(mutex))); }
PLEAT_EXPORTED void mtx_destroy(mtx_t* mutex) { pthread_mutex_destroy(Posix(mutex)); }
PLEAT_EXPORTED int cnd_init(cnd_t* condition) {
  return Answer(pthread_cond_init(Posix(condition), nullptr));
}
PLEAT_EXPORTED int cnd_signal(cnd_t* condition) {
  return Answer(pthread_cond_signal(Posix(condition)));
}
PLEAT_EXPORTED int cnd_broadcast(cnd_t* condition) {
  return Answer(pthread_cond_broadcast(Posix(condition)));
}
PLEAT_EXPORTED int cnd_wait(cnd_t* condition, mtx_t* mutex) {
  return Answer(pthread_cond_wait(Posix(condition), Posix(mutex)));
}
PLEAT_EXPORTED int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* until) {
  return Answer(pthread_cond_timedwait(Posix(condition), Posix(mutex), until));
}
PLEAT_EXPORTED void cnd_destroy(cnd_t* condition) { pthread_cond_destroy(Posix(condition)); }

}  // extern "C"
#endif
