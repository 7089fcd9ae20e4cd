// Tubes of response, the fast pair (src/engine/operator/tubes/ is the definition; src/engine/cuda/tubes/projector.rs lays out the tables).
//
// Seen from above, the samples of all tubes of a view lie on one lattice: rows along its lines, columns one tangential
// position apart. A cell is a point of it with the image's values there at all z, even and odd slices apart. The image is
// interpolated on the cells (`resample`); then bin p of a ring difference is, with r for rows, j for columns, s for taps,
//
//     sum over r, j, class, s of w[r][j][class][s] cell[r][j][class][window + p + s]
//
// (`project`), where the windows do not depend on the tangential position and the weights not on the view. A *line* is the
// half of a view with tangential indices of one sign: those of the other have the same weights, in columns that count the
// other way. `spread` and `collect` are the adjoints, line by line in reverse; every sum has one order.
//
// In `project` and `spread` a lane has some planes, or slices of each class, that follow each other: P of them need P TAPS
// multiply-adds of P + TAPS - 1 values. The lanes of a warp have all of them for P lines.

#include "adders.cuh"
#include "tubes.cuh"
#include "tubes_cells.cuh"
#include "tubes_project.cuh"
#include "tubes_spread.cuh"
