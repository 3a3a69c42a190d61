/* One chunk of a measurement: calls of the CUDA driver or of ONNX Runtime, back to back.
 *
 * Python writes down once what a request is, as a list of calls, and asks for a chunk of requests.
 * Nothing here decides how long to measure, or how: stop rule, interrupts and progress are between
 * two chunks. No header of CUDA, TensorRT, ONNX Runtime or Python is needed: the driver's functions
 * are found by name, ONNX Runtime's by their place in its table, which never changes.
 *
 * src/enginescope/backends/native_loop.py has the counterpart of each structure.
 */

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOOP_VERSION 1
#define EXPORT __attribute__((visibility("default")))
#define MOST_COLUMNS 32

enum kind {
  RECORD,    /* event a on stream b */
  COPY_IN,   /* to device a from host b, c bytes, on stream d */
  COPY_OUT,  /* to host a from device b, c bytes, on stream d */
  FOLLOW,    /* stream a waits for event b */
  LAUNCH,    /* graph a on stream b */
  FILL,      /* c zero bytes to device a, on stream d */
  WAIT,      /* until event a is reached */
  DRAIN,     /* until stream a is idle */
  CLOCK,     /* host's time into column a */
  ELAPSED,   /* time between events a and b into column c, a double in milliseconds */
  PAUSE,     /* a nanoseconds of sleep */
  ANSWER,    /* ONNX Runtime's request a */
  DUE        /* until the request is due; the last a nanoseconds busily */
};

struct call {
  int64_t kind;
  uint64_t a, b, c, d;
};

/* A request that is issued and, when enough others are in flight, waited for. */
struct turn {
  const struct call *issue;
  int64_t issues;
  const struct call *collect;
  int64_t collects;
};

struct chunk {
  const struct turn *turns; /* of round r and lane l: turns[(r % periods) * lanes + l] */
  int64_t lanes, periods, depth;
  int64_t untimed;         /* rounds before the timed ones */
  int64_t count;           /* timed requests */
  int64_t columns;         /* of a row */
  int64_t *rows;           /* one for each timed request */
  const struct call *mark; /* made once before the first timed request; may be null */
  int64_t *next;           /* next request's number, shared by threads; null: this loop alone */
  const int64_t *due;      /* when each request is due; null: at once */
  int64_t limit_ns;        /* no request begins after it; 0: none */
  void *context;           /* CUDA's, made current on this thread; may be null */
  int64_t begin_ns, end_ns; /* found: of the timed requests */
  int64_t done, last;       /* timed requests, and the number that was taken last */
  int64_t error;            /* of the driver, or 1 of ONNX Runtime */
  int64_t failed;           /* kind of the call that failed */
  void *status;             /* ONNX Runtime's message, to be freed with loop_free */
};

static struct {
  int (*set_context)(void *);
  int (*get_context)(void **);
  int (*record)(uint64_t, uint64_t);
  int (*copy_in)(uint64_t, const void *, size_t, uint64_t);
  int (*copy_out)(void *, uint64_t, size_t, uint64_t);
  int (*follow)(uint64_t, uint64_t, unsigned);
  int (*launch)(uint64_t, uint64_t);
  int (*fill)(uint64_t, unsigned char, size_t, uint64_t);
  int (*wait)(uint64_t);
  int (*drain)(uint64_t);
  int (*elapsed)(float *, uint64_t, uint64_t);
} cuda;

static int64_t now(void) {
  struct timespec time; /* Python's perf_counter has these clocks */
#ifdef __APPLE__
  clock_gettime(CLOCK_UPTIME_RAW, &time);
#else
  clock_gettime(CLOCK_MONOTONIC, &time);
#endif
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void rest(int64_t nanoseconds) {
  nanosleep(&(struct timespec){nanoseconds / 1000000000, nanoseconds % 1000000000}, NULL);
}

static void await(int64_t due, int64_t busy) {
  int64_t left;
  while ((left = due - now()) > busy) rest(left - busy);
  while (now() < due) continue;
}

EXPORT int64_t loop_version(void) { return LOOP_VERSION; }
EXPORT void loop_free(void *memory) { free(memory); }

/* Find the driver's functions; return the name of one that is missing, the reason that the library
 * cannot be loaded, or null. */
EXPORT const char *loop_driver(const char *path) {
  static const struct {
    const char *name, *other;
    void **place;
  } symbols[] = {
      {"cuCtxSetCurrent", NULL, (void **)&cuda.set_context},
      {"cuCtxGetCurrent", NULL, (void **)&cuda.get_context},
      {"cuEventRecord", NULL, (void **)&cuda.record},
      {"cuMemcpyHtoDAsync_v2", NULL, (void **)&cuda.copy_in},
      {"cuMemcpyDtoHAsync_v2", NULL, (void **)&cuda.copy_out},
      {"cuStreamWaitEvent", NULL, (void **)&cuda.follow},
      {"cuGraphLaunch", NULL, (void **)&cuda.launch},
      {"cuMemsetD8Async", NULL, (void **)&cuda.fill},
      {"cuEventSynchronize", NULL, (void **)&cuda.wait},
      {"cuStreamSynchronize", NULL, (void **)&cuda.drain},
      {"cuEventElapsedTime_v2", "cuEventElapsedTime", (void **)&cuda.elapsed},
  };
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return dlerror();
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
    void *found = dlsym(library, symbols[i].name);
    if (found == NULL && symbols[i].other != NULL) found = dlsym(library, symbols[i].other);
    if (found == NULL) return symbols[i].name;
    *symbols[i].place = found;
  }
  return NULL;
}

/* CUDA's context on this thread; null if there is none. */
EXPORT void *loop_context(void) {
  void *context = NULL;
  return cuda.get_context == NULL || cuda.get_context(&context) != 0 ? NULL : context;
}

/* ONNX Runtime: functions by their place in OrtApi. */
enum place {
  GET_MESSAGE = 2, CREATE_ENV = 3, CREATE_SESSION = 7, CREATE_OPTIONS = 10,
  SET_EXECUTION_MODE = 13, DISABLE_MEM_PATTERN = 17, DISABLE_ARENA = 19, SET_SEVERITY = 22,
  SET_OPTIMIZATION = 23, SET_INTRA_OP = 24, SET_INTER_OP = 25, CREATE_TENSOR = 49,
  CREATE_MEMORY = 69, RELEASE_ENV = 92, RELEASE_STATUS = 93, RELEASE_MEMORY = 94,
  RELEASE_SESSION = 95, RELEASE_VALUE = 96, RELEASE_OPTIONS = 100, ADD_CONFIG = 130,
  RUN_BOUND = 133, CREATE_BINDING = 134, RELEASE_BINDING = 135, BIND_INPUT = 136, BIND_OUTPUT = 137
};

#define ERRORS_ONLY 3 /* of its log */

struct api_base {
  const void *const *(*get_api)(uint32_t);
  const char *(*version)(void);
};

typedef void *(*of_pointer)(void *);
typedef void *(*of_number)(void *, int);
typedef void *(*of_two)(void *, void *);
typedef void *(*of_three)(void *, void *, void *);
typedef void *(*create_env)(int, const char *, void **);
typedef void *(*create_memory)(int, int, void **);
typedef void *(*create_session)(void *, const char *, void *, void **);
typedef void *(*create_tensor)(void *, void *, size_t, const int64_t *, size_t, int, void **);
typedef void (*release)(void *);

struct runtime {
  const void *const *api;
  void *env, *session, *memory;
};

struct request {
  struct runtime *runtime;
  void *(*run)(void *, const void *, const void *);
  void *binding;
};

struct tensor {
  const char *name;
  void *data;
  int64_t bytes;
  const int64_t *shape;
  int64_t rank, type, is_input;
};

struct options {
  int64_t intra_op, inter_op, optimization, parallel, memory_pattern, arena;
  const char *const *keys, *const *values;
  int64_t entries;
};

/* The text of a status, which is then gone; null for success. */
static char *text_of(const struct runtime *runtime, void *status) {
  if (status == NULL) return NULL;
  char *copy = strdup(((const char *(*)(void *))runtime->api[GET_MESSAGE])(status));
  ((release)runtime->api[RELEASE_STATUS])(status);
  return copy;
}

#define CALL(type, place) ((type)runtime->api[place])
#define TRY(call)                                        \
  do {                                                   \
    void *status = (call);                               \
    if (status != NULL) return text_of(runtime, status); \
  } while (0)

static char *configure(const struct runtime *runtime, void *made, const struct options *asked) {
  TRY(CALL(of_number, SET_SEVERITY)(made, ERRORS_ONLY));
  TRY(CALL(of_number, SET_OPTIMIZATION)(made, (int)asked->optimization));
  TRY(CALL(of_number, SET_EXECUTION_MODE)(made, (int)asked->parallel));
  if (asked->intra_op > 0) TRY(CALL(of_number, SET_INTRA_OP)(made, (int)asked->intra_op));
  if (asked->inter_op > 0) TRY(CALL(of_number, SET_INTER_OP)(made, (int)asked->inter_op));
  if (!asked->memory_pattern) TRY(CALL(of_pointer, DISABLE_MEM_PATTERN)(made));
  if (!asked->arena) TRY(CALL(of_pointer, DISABLE_ARENA)(made));
  for (int64_t i = 0; i < asked->entries; i++)
    TRY(CALL(of_three, ADD_CONFIG)(made, (void *)asked->keys[i], (void *)asked->values[i]));
  return NULL;
}

static char *start(struct runtime *runtime, const char *model, const struct options *asked) {
  void *made = NULL;
  TRY(CALL(create_env, CREATE_ENV)(ERRORS_ONLY, "loop", &runtime->env));
  TRY(CALL(create_memory, CREATE_MEMORY)(1, 0, &runtime->memory)); /* arena, default */
  TRY(CALL(of_pointer, CREATE_OPTIONS)(&made));
  char *why = configure(runtime, made, asked);
  create_session create = CALL(create_session, CREATE_SESSION);
  if (why == NULL) why = text_of(runtime, create(runtime->env, model, made, &runtime->session));
  CALL(release, RELEASE_OPTIONS)(made);
  return why;
}

EXPORT void loop_close(struct runtime *runtime) {
  if (runtime == NULL) return;
  if (runtime->session != NULL) CALL(release, RELEASE_SESSION)(runtime->session);
  if (runtime->memory != NULL) CALL(release, RELEASE_MEMORY)(runtime->memory);
  if (runtime->env != NULL) CALL(release, RELEASE_ENV)(runtime->env);
  free(runtime);
}

/* Open a session on the CPU provider; on failure return null and the reason in `why`, to be freed. */
EXPORT struct runtime *loop_open(const char *library, const char *model,
                                 const struct options *asked, char **why) {
  void *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  const struct api_base *(*base)(void) = NULL;
  if (loaded != NULL) *(void **)&base = dlsym(loaded, "OrtGetApiBase");
  const void *const *api = base == NULL ? NULL : base()->get_api(17);
  struct runtime *runtime = api == NULL ? NULL : calloc(1, sizeof *runtime);
  if (runtime == NULL) {
    *why = strdup(loaded == NULL ? dlerror() : "it does not offer version 17 of its C API");
    return NULL;
  }
  runtime->api = api;
  *why = start(runtime, model, asked);
  if (*why == NULL) return runtime;
  loop_close(runtime);
  return NULL;
}

EXPORT void loop_unbind(struct request *request) {
  if (request == NULL) return;
  if (request->binding != NULL) ((release)request->runtime->api[RELEASE_BINDING])(request->binding);
  free(request);
}

static char *bind_one(const struct runtime *runtime, void *binding, const struct tensor *tensor) {
  void *value = NULL;
  TRY(CALL(create_tensor, CREATE_TENSOR)(runtime->memory, tensor->data, (size_t)tensor->bytes,
                                  tensor->shape, (size_t)tensor->rank, (int)tensor->type, &value));
  int bind = tensor->is_input ? BIND_INPUT : BIND_OUTPUT;
  void *status = CALL(of_three, bind)(binding, (void *)tensor->name, value);
  CALL(release, RELEASE_VALUE)(value); /* the binding has its own hold on it */
  return text_of(runtime, status);
}

/* Bind memory that the caller owns to all inputs and outputs, once. */
EXPORT struct request *loop_bind(struct runtime *runtime, const struct tensor *tensors,
                                 int64_t count, char **why) {
  struct request *made = calloc(1, sizeof *made);
  if (made == NULL) return NULL;
  made->runtime = runtime;
  *(const void **)&made->run = runtime->api[RUN_BOUND];
  void *status = CALL(of_two, CREATE_BINDING)(runtime->session, &made->binding);
  *why = text_of(runtime, status);
  for (int64_t i = 0; i < count && *why == NULL; i++)
    *why = bind_one(runtime, made->binding, &tensors[i]);
  if (*why == NULL) return made;
  loop_unbind(made);
  return NULL;
}

/* Make calls until one fails; return whether all went well. */
static int make(struct chunk *chunk, const struct call *calls, int64_t count, int64_t *row,
                int64_t number) {
  for (const struct call *one = calls; one < calls + count; one++) {
    int error = 0;
    switch ((enum kind)one->kind) {
      case RECORD: error = cuda.record(one->a, one->b); break;
      case COPY_IN: error = cuda.copy_in(one->a, (const void *)one->b, one->c, one->d); break;
      case COPY_OUT: error = cuda.copy_out((void *)one->a, one->b, one->c, one->d); break;
      case FOLLOW: error = cuda.follow(one->a, one->b, 0); break;
      case LAUNCH: error = cuda.launch(one->a, one->b); break;
      case FILL: error = cuda.fill(one->a, 0, one->c, one->d); break;
      case WAIT: error = cuda.wait(one->a); break;
      case DRAIN: error = cuda.drain(one->a); break;
      case CLOCK: row[one->a] = now(); break;
      case ELAPSED: {
        float milliseconds = 0;
        error = cuda.elapsed(&milliseconds, one->a, one->b);
        double exact = milliseconds;
        memcpy(&row[one->c], &exact, sizeof exact);
        break;
      }
      case PAUSE: rest((int64_t)one->a); break;
      case ANSWER: {
        const struct request *request = (const struct request *)one->a;
        void *status = request->run(request->runtime->session, NULL, request->binding);
        error = status != NULL;
        if (error) chunk->status = text_of(request->runtime, status);
        break;
      }
      case DUE:
        if (number >= 0 && chunk->due != NULL) await(chunk->due[number], (int64_t)one->a);
        break;
    }
    if (error != 0) {
      chunk->error = error;
      chunk->failed = one->kind;
      return 0;
    }
  }
  return 1;
}

/* Where the times of a request go; those before the timed ones go nowhere. */
static int64_t *row_of(const struct chunk *chunk, int64_t number, int64_t *nowhere) {
  return number < 0 ? nowhere : chunk->rows + number * chunk->columns;
}

/* Take the next number that threads share; -1 if there is none left. */
static int64_t take(const struct chunk *chunk) {
  int64_t number = *(volatile int64_t *)chunk->next;
  while (number < chunk->count) {
    int64_t seen = __sync_val_compare_and_swap(chunk->next, number, number + 1);
    if (seen == number) return number;
    number = seen;
  }
  return -1;
}

/* One request after another, of numbers that other threads take from too. */
static void run_shared(struct chunk *chunk) {
  int64_t nowhere[MOST_COLUMNS];
  for (int64_t turn = 0; chunk->limit_ns == 0 || now() <= chunk->limit_ns; turn++) {
    const struct turn *one = &chunk->turns[turn % chunk->periods];
    int64_t number = turn < chunk->untimed ? -1 : take(chunk);
    if (turn >= chunk->untimed && number < 0) return;
    int64_t *row = row_of(chunk, chunk->last = number, nowhere);
    if (!make(chunk, one->issue, one->issues, row, number) ||
        !make(chunk, one->collect, one->collects, row, number)) return;
    chunk->done += number >= 0;
  }
}

/* Rounds over all lanes; a request is waited for when `depth` of its lane would be in flight. */
static void run_rounds(struct chunk *chunk) {
  int64_t nowhere[MOST_COLUMNS], before = chunk->untimed * chunk->lanes, collected = 0, issued = 0;
  int64_t whole = before + chunk->count, ahead = (chunk->depth - 1) * chunk->lanes;
  while (collected < whole) {
    for (int64_t lane = 0; lane < chunk->lanes && issued < whole; lane++, issued++) {
      const struct turn *one =
          &chunk->turns[issued / chunk->lanes % chunk->periods * chunk->lanes + lane];
      if (issued == before) {
        chunk->begin_ns = now();
        if (chunk->mark != NULL && !make(chunk, chunk->mark, 1, nowhere, -1)) return;
      }
      int64_t *row = row_of(chunk, issued - before, nowhere);
      if (!make(chunk, one->issue, one->issues, row, -1)) return;
    }
    while (issued - collected > (issued < whole ? ahead : 0)) {
      const struct turn *one = &chunk->turns[collected / chunk->lanes % chunk->periods * chunk->lanes +
                                             collected % chunk->lanes];
      int64_t *row = row_of(chunk, collected - before, nowhere);
      if (!make(chunk, one->collect, one->collects, row, -1)) return;
      chunk->done += collected >= before;
      collected++;
    }
  }
}

/* Run one chunk; return 0 if every call went well. */
EXPORT int64_t loop_run(struct chunk *chunk) {
  if (chunk->context != NULL) chunk->error = cuda.set_context(chunk->context);
  if (chunk->error != 0) return chunk->error;
  chunk->begin_ns = now();
  (chunk->next == NULL ? run_rounds : run_shared)(chunk);
  chunk->end_ns = now();
  return chunk->error;
}
