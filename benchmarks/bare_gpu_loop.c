/* The yardstick of gpu_loop.py: trtexec's loop of two queries in flight, written by hand.
 *
 * The calls and their order are those of trtexec; nothing is looked up, chosen or checked more than
 * a program would that does nothing else. gpu_loop.py calls it in the process of enginescope's loop.
 */

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

typedef uint64_t handle;

struct slot { handle h2d[2], compute[2], d2h[2]; };

struct work {
  handle input_stream, compute_stream, output_stream, graph, input, output;
  void *from, *to;
  size_t input_bytes, output_bytes;
  int64_t transfers;
  struct slot slots[2];
};

static double seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}

/* Run for `limit` seconds; return queries a second, and GPU compute times in `compute_ms`. */
__attribute__((visibility("default"))) double bare_loop(struct work *w, double limit, float *compute_ms,
                                                        int64_t room, int64_t *taken) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  int (*record)(handle, handle) = dlsym(driver, "cuEventRecord");
  int (*wait)(handle) = dlsym(driver, "cuEventSynchronize");
  int (*follow)(handle, handle, unsigned) = dlsym(driver, "cuStreamWaitEvent");
  int (*launch)(handle, handle) = dlsym(driver, "cuGraphLaunch");
  int (*in)(handle, const void *, size_t, handle) = dlsym(driver, "cuMemcpyHtoDAsync_v2");
  int (*out)(void *, handle, size_t, handle) = dlsym(driver, "cuMemcpyDtoHAsync_v2");
  int (*elapsed)(float *, handle, handle) = dlsym(driver, "cuEventElapsedTime_v2");
  if (elapsed == NULL) elapsed = dlsym(driver, "cuEventElapsedTime");
  double begin = 0, now = 0;
  int64_t done = -2; /* two queries fill the pipeline */
  for (int64_t i = 0; done < room; i++) {
    struct slot *s = &w->slots[i & 1], *before = &w->slots[(i + 1) & 1];
    float ms = 0;
    int error = 0;
    if (w->transfers) {
      error |= record(s->h2d[0], w->input_stream);
      error |= in(w->input, w->from, w->input_bytes, w->input_stream);
      error |= record(s->h2d[1], w->input_stream);
      error |= follow(w->compute_stream, s->h2d[1], 0);
    }
    error |= record(s->compute[0], w->compute_stream);
    error |= launch(w->graph, w->compute_stream);
    error |= record(s->compute[1], w->compute_stream);
    if (w->transfers) {
      error |= follow(w->output_stream, s->compute[1], 0);
      error |= record(s->d2h[0], w->output_stream);
      error |= out(w->to, w->output, w->output_bytes, w->output_stream);
      error |= record(s->d2h[1], w->output_stream);
    }
    if (i == 0) continue;
    error |= wait(w->transfers ? before->d2h[1] : before->compute[1]);
    error |= elapsed(&ms, before->compute[0], before->compute[1]);
    if (w->transfers) {
      float part;
      error |= elapsed(&part, before->h2d[0], before->h2d[1]);
      error |= elapsed(&part, before->d2h[0], before->d2h[1]);
    }
    if (error) return -1;
    now = seconds();
    if (done >= 0) compute_ms[done] = ms;
    if (++done == 0) begin = now;
    if (done > 0 && now - begin >= limit) break;
  }
  for (int i = 0; i < 2; i++) wait(w->transfers ? w->slots[i].d2h[1] : w->slots[i].compute[1]);
  *taken = done;
  return done / (now - begin);
}
