// What exported C code carries along, cut at the lines that begin with //@ and a name:
// helpers, then what an ensemble needs (see c.py), and the classes of a single tree.
//@ same

static int same(const char *text, const char *other)
{
    return text != NULL && strcmp(text, other) == 0;
}
//@ unless

static double unless(double value, double low, double high)
{
    return low <= value && value <= high ? NAN : value;
}
//@ filled

static double filled(double value, double fill)
{
    return isnan(value) ? fill : value;
}
//@ leaf

static int find_leaf(const double *x, int tree)
{
    int node = 0;
    while (node < TREE_N_SPLITS) {
        int split = tree * TREE_N_SPLITS + node;
        double value = x[split_feature[split]];
        int left = isnan(value) ? split_missing_left[split]
                                : value <= split_threshold[split];
        node = 2 * node + (left ? 1 : 2);
    }
    return tree * TREE_N_LEAVES + node - TREE_N_SPLITS;
}
//@ softmax

/* Scores become weights: a softmax up to a factor. */
static void weigh(double *score)
{
    double top = score[0];
    for (int i = 1; i < TREE_N_TREES; i++) if (score[i] > top) top = score[i];
    for (int i = 0; i < TREE_N_TREES; i++) score[i] = exp(score[i] - top);
}
//@ entmax15

/* Scores become weights: a 1.5-entmax, (score / 2 - tau) squared or 0, by Newton's
   steps to the tau at which they sum to 1. */
static void weigh(double *score)
{
    double tau = score[0] / 2;
    for (int i = 1; i < TREE_N_TREES; i++) if (score[i] / 2 > tau) tau = score[i] / 2;
    tau -= 1;
    for (int step = 0; step < 60; step++) {
        double sum = 0, squares = 0, move;
        for (int i = 0; i < TREE_N_TREES; i++) {
            double root = score[i] / 2 - tau;
            if (root > 0) { sum += root; squares += root * root; }
        }
        move = (squares - 1) / (2 * sum);
        if (!(move > 1e-14)) break;
        tau += move;
    }
    for (int i = 0; i < TREE_N_TREES; i++) {
        double root = score[i] / 2 - tau;
        score[i] = root > 0 ? root * root : 0;
    }
}
//@ limit

/* All but the highest scores become so low that they weigh nothing. */
static void limit(double *score)
{
    double highest[TREE_MOST_DECIDERS]; /* in falling order */
    int found = 0;
    for (int i = 0; i < TREE_N_TREES; i++) {
        int place = found;
        if (found == TREE_MOST_DECIDERS) {
            if (score[i] <= highest[found - 1]) continue;
            place = found - 1;
        } else {
            found++;
        }
        while (place > 0 && highest[place - 1] < score[i]) {
            highest[place] = highest[place - 1];
            place--;
        }
        highest[place] = score[i];
    }
    for (int i = 0; i < TREE_N_TREES; i++)
        if (score[i] < highest[found - 1]) score[i] = TREE_NO_WEIGHT;
}
//@ mean

static void mean_values(const struct tree_row *row, double *mean)
{
    double x[TREE_N_FEATURES], weight[TREE_N_TREES], total = 0;
    int leaf[TREE_N_TREES];
    read_row(row, x);
    for (int i = 0; i < TREE_N_TREES; i++) {
        leaf[i] = find_leaf(x, i);
        weight[i] = leaf_weight[leaf[i]];
    }
    weigh(weight);
    for (int k = 0; k < TREE_N_VALUES; k++) mean[k] = 0;
    for (int i = 0; i < TREE_N_TREES; i++) {
        total += weight[i];
        for (int k = 0; k < TREE_N_VALUES; k++)
            mean[k] += weight[i] * leaf_value[leaf[i] * TREE_N_VALUES + k];
    }
    for (int k = 0; k < TREE_N_VALUES; k++) mean[k] /= total;
}
//@ predict

double tree_predict(const struct tree_row *row)
{
    double mean[TREE_N_VALUES];
    mean_values(row, mean);
    return mean[0];
}
//@ probabilities

void tree_probabilities(const struct tree_row *row, double *probability)
{
    mean_values(row, probability);
}
//@ logits

void tree_probabilities(const struct tree_row *row, double *probability)
{
    double top, sum = 0;
    mean_values(row, probability);

    top = probability[0];
    for (int i = 1; i < TREE_N_CLASSES; i++)
        if (probability[i] > top) top = probability[i];
    for (int i = 0; i < TREE_N_CLASSES; i++)
        sum += probability[i] = exp(probability[i] - top);
    for (int i = 0; i < TREE_N_CLASSES; i++) probability[i] /= sum;
}
//@ class

int tree_class(const struct tree_row *row)
{
    double probability[TREE_N_CLASSES], most = 0;
    int best = 0;
    tree_probabilities(row, probability);
    for (int i = 0; i < TREE_N_CLASSES; i++) {
        double weighted = 0;
        for (int j = 0; j < TREE_N_CLASSES; j++)
            weighted += probability[j] * class_weight[i][j];
        if (weighted > most) {
            most = weighted;
            best = i;
        }
    }
    return best;
}
//@ tree_class

const double *tree_probabilities(const struct tree_row *row)
{
    int leaf = tree_leaf(row);
    return leaf < 0 ? NULL : leaf_value[leaf];
}

int tree_class(const struct tree_row *row)
{
    int leaf = tree_leaf(row);
    return leaf < 0 ? -1 : leaf_class[leaf];
}
