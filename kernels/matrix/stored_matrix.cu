// A stored matrix with all symmetries of a ring of 18 modules.
#define SYMMETRIES 72
#define ROWS_AT_ONCE 16
#define PARTS_OF_ROW 1
#define COLUMNS_AT_ONCE 4
#include "adders.cuh"
#include "stored_matrix.cuh"
