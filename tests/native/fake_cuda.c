/* A CUDA driver without a GPU, for the loop in C: streams and events by their numbers.
 *
 * A stream is the time at which it will be idle, an event the time at which it was or will be
 * reached. One engine copies in, one copies out, one computes. Each is made at its first use, so
 * that handles of the stand-in for the CUDA runtime, which are numbers too, mean the same here.
 * What was called is kept, in order.
 */

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define PLACES 4096
#define CALLS 1000000
#define API __attribute__((visibility("default")))

typedef uint64_t handle;

static struct place { handle name; int64_t time; } places[PLACES];
static int64_t engines[3];
static int64_t graph_ns = 50000, copy_ns = 2000, fail_at = -1, fail_with = 700;
static int64_t called;
static char calls[CALLS];
static int here;

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * (int64_t)1000000000 + time.tv_nsec;
}

static int64_t *at(handle name) {
  size_t i = name * 2654435761u % PLACES;
  while (places[i].name != name + 1 && places[i].name != 0) i = (i + 1) % PLACES;
  places[i].name = name + 1;
  return &places[i].time;
}

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

static int note(char what) {
  if (called < CALLS) calls[called] = what;
  return called++ == fail_at ? (int)fail_with : 0;
}

static int work(char what, int engine, int64_t ns, handle stream) {
  int64_t begin = later(later(now(), *at(stream)), engines[engine]);
  *at(stream) = engines[engine] = begin + ns;
  return note(what);
}

API void fake_reset(int64_t graph, int64_t copy, int64_t fail) {
  graph_ns = graph, copy_ns = copy, fail_at = fail, called = 0;
  for (size_t i = 0; i < PLACES; i++) places[i].name = 0, places[i].time = 0;
}
API const char *fake_calls(int64_t *count) { return *count = called, calls; }

API int cuCtxGetCurrent(void **context) { return *context = &here, 0; }
API int cuCtxSetCurrent(void *context) { return context == &here ? 0 : 201; }
API int cuEventRecord(handle event, handle stream) {
  *at(event) = later(now(), *at(stream));
  return note('r');
}
API int cuStreamWaitEvent(handle stream, handle event, unsigned flags) {
  *at(stream) = later(*at(stream), *at(event));
  return note('f') + (int)flags;
}
API int cuMemcpyHtoDAsync_v2(handle to, const void *from, size_t size, handle stream) {
  return (void)to, (void)from, (void)size, work('i', 0, copy_ns, stream);
}
API int cuMemcpyDtoHAsync_v2(void *to, handle from, size_t size, handle stream) {
  return (void)to, (void)from, (void)size, work('o', 1, copy_ns, stream);
}
API int cuMemsetD8Async(handle to, unsigned char value, size_t size, handle stream) {
  return (void)to, (void)value, (void)size, work('s', 2, copy_ns, stream);
}
API int cuGraphLaunch(handle graph, handle stream) {
  return (void)graph, work('g', 2, graph_ns, stream);
}
API int cuEventSynchronize(handle event) {
  while (now() < *at(event)) continue;
  return note('w');
}
API int cuStreamSynchronize(handle stream) {
  while (now() < *at(stream)) continue;
  return note('d');
}
API int cuEventElapsedTime(float *ms, handle begin, handle end) {
  *ms = (float)(*at(end) - *at(begin)) / 1e6f;
  return note('e');
}
