// Axial runs with time of flight for neighbouring planes one slice apart, images of up to about 32 slices.
#define CLASSES 1
#define REGISTERS 1
#define SLOT_VALUES 4
#include "adders.cuh"
#include "axial_path.cuh"
#include "tof_path.cuh"
#include "axial_tof.cuh"
