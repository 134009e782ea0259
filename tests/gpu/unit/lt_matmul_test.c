/* Every case of the table can be described to cuBLASLt: it accepts each attribute, without a GPU.
 */
#include "tests/gpu/probes/lt_matmul.h"
#include "tests/unit/check.h"

int main(void) {
  for (int i = 0; i < MATMUL_CASE_COUNT; i++) {
    char name[160];
    matmul_name(&MATMUL_CASES[i], name, sizeof name);
    TEST(name) {
      static char place[16];
      LtBuffers buffers = {.bias = place, .aux = place};
      LtMatmul lt;
      CHECK(lt_describe(&lt, &MATMUL_CASES[i], &buffers));
      CHECK_TEXT(probe_failure(), "");
      cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
      size_t written_bytes = 0;
      CHECK_INT(cublasLtMatmulDescGetAttribute(lt.operation, CUBLASLT_MATMUL_DESC_EPILOGUE,
                                               &epilogue, sizeof epilogue, &written_bytes),
                CUBLAS_STATUS_SUCCESS);
      CHECK((epilogue == CUBLASLT_EPILOGUE_DEFAULT) == (MATMUL_CASES[i].epilogue == EPILOGUE_NONE));
      lt_forget(&lt);
    }
  }
  CHECK_DONE();
}
