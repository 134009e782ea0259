/* The table of NCCL's calls against its header, and against the library where it is installed: 77
 * where it is not.
 * LINK: runtime */
#include "runtime/comm/nccl_api.h"
#include "tests/unit/check.h"

#if __has_include(<nccl.h>)
#include <nccl.h>

_Static_assert(sizeof(NcclId) == sizeof(ncclUniqueId), "ids");
_Static_assert(offsetof(NcclConfig, magic) == offsetof(ncclConfig_t, magic), "configuration");
_Static_assert(offsetof(NcclConfig, version) == offsetof(ncclConfig_t, version), "configuration");
_Static_assert(offsetof(NcclConfig, blocking) == offsetof(ncclConfig_t, blocking), "configuration");
_Static_assert(NCCL_CONFIG_VERSION == NCCL_VERSION(2, 14, 0), "configuration");
_Static_assert(NCCL_DONE == (int)ncclSuccess && NCCL_REMOTE_ERROR == (int)ncclRemoteError &&
                   NCCL_UNDER_WAY == (int)ncclInProgress,
               "results");
_Static_assert(NCCL_SUM == (int)ncclSum && NCCL_MAX == (int)ncclMax, "reductions");
_Static_assert(NCCL_UINT8 == (int)ncclUint8 && NCCL_INT32 == (int)ncclInt32 &&
                   NCCL_FLOAT32 == (int)ncclFloat32 && NCCL_FLOAT64 == (int)ncclFloat64 &&
                   NCCL_BFLOAT16 == (int)ncclBfloat16 && NCCL_FLOAT16 == (int)ncclFloat16,
               "element types");
#endif

int main(void) {
  Status status = {0};
  const NcclApi *api = nccl_library(&status);
  if (api == NULL) {
    printf("skipped: %s\n", status.text);
    CHECK_INT(status.code, STATUS_USER);
    CHECK(strstr(status.text, "NCCL") != NULL);
    return check_failures > 0 ? 1 : 77;
  }
  TEST("the library makes ids without a GPU, each another") {
    NcclId first, second;
    CHECK_INT(api->get_unique_id(&first), NCCL_DONE);
    CHECK_INT(api->get_unique_id(&second), NCCL_DONE);
    CHECK(memcmp(&first, &second, sizeof first) != 0);
  }
  TEST("its configuration is taken: what fails is the GPU that is not there, not the table") {
    NcclId id;
    NcclHandle *comm = NULL;
    NcclConfig config = {sizeof config, (unsigned)NCCL_CONFIG_MAGIC, NCCL_CONFIG_VERSION, 0};
    CHECK_INT(api->get_unique_id(&id), NCCL_DONE);
    int result = api->init_rank(&comm, 1, 0, 1, &id, &config);
    if (result != NCCL_DONE && result != NCCL_UNDER_WAY)
      CHECK(strstr(api->error_string(result), "cuda") != NULL);
    else
      (void)api->abort(comm);
  }
  CHECK_DONE();
}
