/* server.c -- PMIx calls the server on its own thread: the callbacks record the request, answer,
 * and return.
 *
 * With all ranks on one node the library answers fences and exchanges by itself. */
#include "runtime/launch/server.h"

#include <pmix.h>
#include <pmix_server.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/launch/folders.h"

extern char **environ;

enum { JOB_INFOS = 9, RANK_INFOS = 6, HOST_BYTES = 256 };

static _Atomic int32_t abort_code;
static _Atomic int32_t abort_rank;
static pmix_nspace_t nspace;

/* ---- requests of clients */

static pmix_status_t answer(pmix_op_cbfunc_t done, void *context) {
  if (done) done(PMIX_SUCCESS, context);
  return PMIX_SUCCESS;
}

static pmix_status_t on_connected(const pmix_proc_t *process, void *object, pmix_info_t info[],
                                  size_t infos, pmix_op_cbfunc_t done, void *context) {
  (void)process, (void)object, (void)info, (void)infos;
  return answer(done, context);
}

static pmix_status_t on_finalized(const pmix_proc_t *process, void *object, pmix_op_cbfunc_t done,
                                  void *context) {
  (void)process, (void)object;
  return answer(done, context);
}

static pmix_status_t on_abort(const pmix_proc_t *process, void *object, int code,
                              const char message[], pmix_proc_t processes[], size_t count,
                              pmix_op_cbfunc_t done, void *context) {
  (void)object, (void)message, (void)processes, (void)count;
  int32_t none = 0;
  if (atomic_load(&abort_code) == 0) atomic_store(&abort_rank, (int32_t)process->rank);
  (void)atomic_compare_exchange_strong(&abort_code, &none, code ? code : STATUS_WORLD);
  return answer(done, context);
}

static pmix_status_t on_fence(const pmix_proc_t processes[], size_t count, const pmix_info_t info[],
                              size_t infos, char *data, size_t size_bytes, pmix_modex_cbfunc_t done,
                              void *context) {
  (void)processes, (void)count, (void)info, (void)infos;
  if (done) done(PMIX_SUCCESS, data, size_bytes, context, NULL, NULL);
  return PMIX_SUCCESS;
}

static pmix_status_t on_lookup(const pmix_proc_t *process, const pmix_info_t info[], size_t infos,
                               pmix_modex_cbfunc_t done, void *context) {
  (void)process, (void)info, (void)infos, (void)done, (void)context;
  return PMIX_ERR_NOT_FOUND;
}

static pmix_status_t on_register(pmix_status_t *codes, size_t count, const pmix_info_t info[],
                                 size_t infos, pmix_op_cbfunc_t done, void *context) {
  (void)codes, (void)count, (void)info, (void)infos, (void)done, (void)context;
  return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_deregister(pmix_status_t *codes, size_t count, pmix_op_cbfunc_t done,
                                   void *context) {
  (void)codes, (void)count, (void)done, (void)context;
  return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_event(pmix_status_t code, const pmix_proc_t *source,
                              pmix_data_range_t range, pmix_info_t info[], size_t infos,
                              pmix_op_cbfunc_t done, void *context) {
  (void)code, (void)source, (void)range, (void)info, (void)infos, (void)done, (void)context;
  return PMIX_OPERATION_SUCCEEDED;
}

static pmix_server_module_t calls = {
    .client_connected2 = on_connected,
    .client_finalized = on_finalized,
    .abort = on_abort,
    .fence_nb = on_fence,
    .direct_modex = on_lookup,
    .register_events = on_register,
    .deregister_events = on_deregister,
    .notify_event = on_event,
};

int32_t server_abort_code(void) {
  return atomic_load(&abort_code);
}

int32_t server_abort_rank(void) {
  return atomic_load(&abort_rank);
}

/* ---- waiting for the library's thread */

typedef struct ServerAnswer {
  pthread_mutex_t lock;
  pthread_cond_t came;
  bool is_there;
  pmix_status_t result;
} ServerAnswer;

static void on_answer(pmix_status_t result, void *context) {
  ServerAnswer *given = context;
  pthread_mutex_lock(&given->lock);
  given->is_there = true;
  given->result = result;
  pthread_cond_signal(&given->came);
  pthread_mutex_unlock(&given->lock);
}

static pmix_status_t wait_answer(pmix_status_t called, ServerAnswer *given) {
  pthread_mutex_lock(&given->lock);
  while (called == PMIX_SUCCESS && !given->is_there)
    pthread_cond_wait(&given->came, &given->lock);
  pthread_mutex_unlock(&given->lock);
  if (called == PMIX_OPERATION_SUCCEEDED) return PMIX_SUCCESS;
  return called == PMIX_SUCCESS ? given->result : called;
}

#define ANSWER_INIT                                                                                \
  { .lock = PTHREAD_MUTEX_INITIALIZER, .came = PTHREAD_COND_INITIALIZER }

static bool good(pmix_status_t result, const char *call, Status *status) {
  if (result == PMIX_SUCCESS) return true;
  return status_fail(status, STATUS_WORLD, "the launcher's %s: %s", call,
                     PMIx_Error_string(result));
}

/* ---- the job, as clients see it */

static void put(pmix_info_t *info, const char *key, void *value, pmix_data_type_t type) {
  PMIX_INFO_LOAD(info, key, value, type);
}

/* NOLINTBEGIN(readability-function-size,clang-analyzer-*): macros of PMIx hold much code, and
 * memory that it keeps. */
static pmix_data_array_t *new_array(size_t infos) {
  pmix_data_array_t *array;
  PMIX_DATA_ARRAY_CREATE(array, infos, PMIX_INFO);
  return array;
}

static pmix_info_t *new_infos(size_t count) {
  pmix_info_t *info;
  PMIX_INFO_CREATE(info, count);
  return info;
}

static void free_infos(pmix_info_t *info, size_t count) {
  PMIX_INFO_FREE(info, count);
}

static void add_rank(pmix_info_t *info, int32_t rank, char *host) {
  pmix_data_array_t *array = new_array(RANK_INFOS);
  pmix_rank_t number = (pmix_rank_t)rank;
  uint16_t local = (uint16_t)rank;
  uint32_t zero = 0;
  pmix_info_t *of = array->array;
  put(&of[0], PMIX_RANK, &number, PMIX_PROC_RANK);
  put(&of[1], PMIX_LOCAL_RANK, &local, PMIX_UINT16);
  put(&of[2], PMIX_NODE_RANK, &local, PMIX_UINT16);
  put(&of[3], PMIX_NODEID, &zero, PMIX_UINT32);
  put(&of[4], PMIX_HOSTNAME, host, PMIX_STRING);
  put(&of[5], PMIX_APPNUM, &zero, PMIX_UINT32);
  PMIX_LOAD_KEY(info->key, PMIX_PROC_DATA);
  info->value.type = PMIX_DATA_ARRAY;
  info->value.data.darray = array;
}

/* "0,1,2" for three ranks. */
static char *list_ranks(int32_t count) {
  char *list = calloc((size_t)count, 12);
  for (int32_t i = 0, at = 0; list && i < count; i++)
    at += sprintf(list + at, "%s%d", i ? "," : "", i);
  return list;
}

static pmix_status_t register_job(const Server *server, char *host, char *ranks) {
  uint32_t count = (uint32_t)server->rank_count, one = 1;
  size_t infos = JOB_INFOS + (size_t)server->rank_count;
  char *nodes = NULL, *processes = NULL;
  pmix_info_t *info = new_infos(infos);
  ServerAnswer given = ANSWER_INIT;
  if (PMIx_generate_regex(host, &nodes) != PMIX_SUCCESS ||
      PMIx_generate_ppn(ranks, &processes) != PMIX_SUCCESS)
    return PMIX_ERR_NOMEM;
  put(&info[0], PMIX_UNIV_SIZE, &count, PMIX_UINT32);
  put(&info[1], PMIX_JOB_SIZE, &count, PMIX_UINT32);
  put(&info[2], PMIX_LOCAL_SIZE, &count, PMIX_UINT32);
  put(&info[3], PMIX_NUM_NODES, &one, PMIX_UINT32);
  put(&info[4], PMIX_NODE_MAP, nodes, PMIX_REGEX);
  put(&info[5], PMIX_PROC_MAP, processes, PMIX_REGEX);
  put(&info[6], PMIX_LOCAL_PEERS, ranks, PMIX_STRING);
  put(&info[7], PMIX_JOBID, nspace, PMIX_STRING);
  put(&info[8], PMIX_NODE_LIST, host, PMIX_STRING);
  for (int32_t rank = 0; rank < server->rank_count; rank++)
    add_rank(&info[JOB_INFOS + rank], rank, host);
  pmix_status_t result = wait_answer(
      PMIx_server_register_nspace(nspace, server->rank_count, info, infos, on_answer, &given),
      &given);
  free_infos(info, infos);
  free(nodes);
  free(processes);
  return result;
}

/* NOLINTEND(readability-function-size,clang-analyzer-*) */

static bool start(Server *server, Status *status) {
  char host[HOST_BYTES] = "?";
  bool none = false;
  pmix_info_t info[3];
  (void)gethostname(host, sizeof host - 1);
  PMIX_INFO_LOAD(&info[0], PMIX_SERVER_TMPDIR, server->files, PMIX_STRING);
  PMIX_INFO_LOAD(&info[1], PMIX_SYSTEM_TMPDIR, server->files, PMIX_STRING);
  PMIX_INFO_LOAD(&info[2], PMIX_SERVER_TOOL_SUPPORT, &none, PMIX_BOOL);
  if (!good(PMIx_server_init(&calls, info, 3), "PMIx server", status)) return false;
  server->is_open = true;
  (void)snprintf(nspace, sizeof nspace, "lockstep.%ld", (long)getpid());
  char *ranks = list_ranks(server->rank_count);
  bool registered =
      good(ranks ? register_job(server, host, ranks) : PMIX_ERR_NOMEM, "PMIx namespace", status);
  free(ranks);
  return registered;
}

bool server_open(Server *server, int32_t rank_count, Status *status) {
  *server = (Server){.rank_count = rank_count};
  atomic_store(&abort_code, 0);
  return folders_open(server->files, server->segments, status) && start(server, status);
}

void server_close(Server *server, bool in_order) {
  if (server->is_open && in_order) (void)PMIx_server_finalize();
  folders_remove(server->files);
  folders_remove(server->segments);
}

/* ---- a rank's environment */

static bool add_variable(char ***environment, const char *variable) {
  pmix_status_t result;
  PMIX_ARGV_APPEND(result, *environment, variable);
  return result == PMIX_SUCCESS;
}

static bool ends_with(const char *text, size_t length, const char *end) {
  size_t end_length = strlen(end);
  return length >= end_length && memcmp(text + length - end_length, end, end_length) == 0;
}

/* PMIx's variables of another server's process must not reach a rank. Those by which a user says
 * where PMIx is installed and how it behaves must: PMIX_MCA_..., PMIX_LIBDIR, PMIX_PREFIX. Without
 * them a rank loads the plug-ins of another PMIx than its own. */
static bool is_of_process(const char *variable) {
  size_t length = strcspn(variable, "=");
  if (strncmp(variable, "PMIX_", 5) != 0) return false;
  bool is_place = (ends_with(variable, length, "DIR") && !ends_with(variable, length, "TMPDIR")) ||
                  ends_with(variable, length, "PREFIX");
  return !is_place && strncmp(variable, "PMIX_MCA_", 9) != 0;
}

/* MPI's files go into a folder that is removed however the ranks end. */
static bool add_all(const Server *server, char ***environment) {
  char files[128], segments[128];
  (void)snprintf(files, sizeof files, "OMPI_MCA_orte_tmpdir_base=%s", server->files);
  (void)snprintf(segments, sizeof segments, "OMPI_MCA_btl_vader_backing_directory=%s",
                 server->segments);
  for (char **at = environ; *at; at++)
    if (!is_of_process(*at) && !add_variable(environment, *at)) return false;
  return add_variable(environment, files) && add_variable(environment, segments);
}

/* NOLINTBEGIN(clang-analyzer-unix.Malloc): PMIx's macros grow the list */
char **server_environment(Server *server, int32_t rank, Status *status) {
  pmix_proc_t process;
  char **environment = NULL;
  ServerAnswer given = ANSWER_INIT;
  PMIX_LOAD_PROCID(&process, nspace, (pmix_rank_t)rank);
  pmix_status_t result = wait_answer(
      PMIx_server_register_client(&process, getuid(), getgid(), NULL, on_answer, &given), &given);
  if (!good(result, "PMIx client", status)) return NULL;
  if (!add_all(server, &environment)) {
    (void)status_fail(status, STATUS_WORLD, "not enough memory to start rank %d", rank);
    server_environment_free(environment);
    return NULL;
  }
  if (good(PMIx_server_setup_fork(&process, &environment), "PMIx fork", status)) return environment;
  server_environment_free(environment);
  return NULL;
}

/* NOLINTEND(clang-analyzer-unix.Malloc) */

void server_environment_free(char **environment) {
  for (char **at = environment; at && *at; at++)
    free(*at);
  free(environment);
}
