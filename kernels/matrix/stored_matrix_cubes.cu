// A stored matrix with the symmetries that cubes have.
#define SYMMETRIES 8
#define ROWS_AT_ONCE 8
#define PARTS_OF_ROW 16
#define COLUMNS_AT_ONCE 32
#include "adders.cuh"
#include "stored_matrix.cuh"
