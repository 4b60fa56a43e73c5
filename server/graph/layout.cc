#include "server/graph/layout.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace castscope::graph {
namespace {

using Index = std::size_t;

// A box, or the point at which a link passes a layer.
struct Vertex {
  Box box;
  Index layer = 0, order = 0;  // its place in the layer
  double x = 0;                // x of its middle
  std::vector<Index> above, below;
  bool passes = false;
};

class Drawing {
 public:
  Drawing(const std::vector<Box>& boxes, const std::vector<Link>& links, const Spacing& spacing)
      : boxes_(boxes), links_(links), spacing_(spacing) {
    for (const Box& box : boxes) vertices_.push_back({.box = box, .above = {}, .below = {}});
  }

  Layout draw() {
    choose_layers();
    add_passages();
    fill_layers();
    reduce_crossings();
    choose_coordinates();
    return result();
  }

 private:
  static Index first(const Link& link) { return std::min(link.from, link.to); }
  static Index second(const Link& link) { return std::max(link.from, link.to); }

  // Assigns the layers by the boxes' order, which is an order of the graph without its upward links. A box with nothing
  // above it stands as near as it can to the boxes that take its value.
  void choose_layers() {
    std::vector<std::vector<Index>> out(boxes_.size());
    std::vector<bool> has_above(boxes_.size());
    for (const Link& link : links_) {
      if (link.from == link.to) continue;
      out[first(link)].push_back(second(link));
      has_above[second(link)] = true;
    }
    for (Index v = 0; v < boxes_.size(); ++v)
      for (const Index w : out[v]) vertices_[w].layer = std::max(vertices_[w].layer, vertices_[v].layer + 1);
    for (Index v = 0; v < boxes_.size(); ++v) {
      if (has_above[v] || out[v].empty()) continue;
      Index nearest = vertices_[out[v].front()].layer;
      for (const Index w : out[v]) nearest = std::min(nearest, vertices_[w].layer);
      vertices_[v].layer = nearest - 1;
    }
  }

  void add_passages() {
    for (const Link& link : links_) {
      std::vector<Index>& chain = chains_.emplace_back();
      if (link.from == link.to) continue;
      chain.push_back(first(link));
      for (Index layer = vertices_[first(link)].layer + 1; layer < vertices_[second(link)].layer; ++layer) {
        vertices_.push_back(
            {.box = {.width = spacing_.lane, .height = 0}, .layer = layer, .above = {}, .below = {}, .passes = true});
        chain.push_back(vertices_.size() - 1);
      }
      chain.push_back(second(link));
      for (Index i = 0; i + 1 < chain.size(); ++i) {
        vertices_[chain[i]].below.push_back(chain[i + 1]);
        vertices_[chain[i + 1]].above.push_back(chain[i]);
      }
    }
  }

  void fill_layers() {
    for (Index v = 0; v < vertices_.size(); ++v) {
      if (vertices_[v].layer >= layers_.size()) layers_.resize(vertices_[v].layer + 1);
      layers_[vertices_[v].layer].push_back(v);
    }
    number_vertices();
  }

  void number_vertices() {
    for (const std::vector<Index>& layer : layers_)
      for (Index i = 0; i < layer.size(); ++i) vertices_[layer[i]].order = i;
  }

  // Counts the pairs of lines between two layers that cross: inversions, counted by a Fenwick tree.
  std::size_t crossings() const {
    std::size_t all = 0;
    for (Index l = 0; l + 1 < layers_.size(); ++l) {
      std::vector<std::size_t> tree(layers_[l + 1].size() + 1);
      std::size_t seen = 0;
      for (const Index v : layers_[l]) {
        std::vector<Index> ends;
        for (const Index w : vertices_[v].below) ends.push_back(vertices_[w].order + 1);
        for (const Index end : ends) {
          std::size_t left = 0;
          for (Index i = end; i > 0; i -= i & -i) left += tree[i];
          all += seen - left;
        }
        for (const Index end : ends)
          for (Index i = end; i < tree.size(); i += i & -i) ++tree[i];
        seen += ends.size();
      }
    }
    return all;
  }

  double barycentre(Index v, bool downwards) const {
    const std::vector<Index>& beside = downwards ? vertices_[v].above : vertices_[v].below;
    if (beside.empty()) return static_cast<double>(vertices_[v].order);
    double sum = 0;
    for (const Index w : beside) sum += static_cast<double>(vertices_[w].order);
    return sum / static_cast<double>(beside.size());
  }

  void sort_layers(bool downwards) {
    for (Index i = 0; i < layers_.size(); ++i) {
      std::vector<Index>& layer = layers_[downwards ? i : layers_.size() - 1 - i];
      std::vector<std::pair<double, Index>> sorted;
      for (const Index v : layer) sorted.emplace_back(barycentre(v, downwards), v);
      std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      for (Index place = 0; place < layer.size(); ++place) {
        layer[place] = sorted[place].second;
        vertices_[layer[place]].order = place;
      }
    }
  }

  void reduce_crossings() {
    constexpr int kSweeps = 16;
    std::vector<std::vector<Index>> best = layers_;
    std::size_t fewest = crossings();
    for (int i = 0; i < kSweeps && fewest > 0; ++i) {
      sort_layers(i % 2 == 0);
      const std::size_t now = crossings();
      if (now >= fewest) continue;
      fewest = now;
      best = layers_;
    }
    layers_ = std::move(best);
    number_vertices();
  }

  double half_width(Index v) const { return vertices_[v].box.width / 2; }

  // Moves each vertex as near as possible to its wanted x, in order and apart: a weighted isotonic regression.
  void place_layer(const std::vector<Index>& layer, const std::vector<double>& wanted,
                   const std::vector<double>& weight) {
    struct Block {
      double sum, weight;
      Index count;
      double mean() const { return sum / weight; }
    };
    std::vector<double> offset(layer.size());
    for (Index i = 1; i < layer.size(); ++i)
      offset[i] = offset[i - 1] + half_width(layer[i - 1]) + spacing_.beside + half_width(layer[i]);
    std::vector<Block> blocks;
    for (Index i = 0; i < layer.size(); ++i) {
      blocks.push_back({.sum = (wanted[i] - offset[i]) * weight[i], .weight = weight[i], .count = 1});
      while (blocks.size() > 1 && blocks[blocks.size() - 2].mean() > blocks.back().mean()) {
        const Block last = blocks.back();
        blocks.pop_back();
        blocks.back() = {blocks.back().sum + last.sum, blocks.back().weight + last.weight,
                         blocks.back().count + last.count};
      }
    }
    Index i = 0;
    for (const Block& block : blocks)
      for (Index n = 0; n < block.count; ++n, ++i) vertices_[layer[i]].x = block.mean() + offset[i];
  }

  // Pulls each vertex to its neighbours; long lines pull more, so that they stay straight.
  void pull_layer(const std::vector<Index>& layer, bool up, bool down) {
    std::vector<double> wanted, weight;
    for (const Index v : layer) {
      double sum = 0, all = 0;
      const auto add = [&](const std::vector<Index>& beside) {
        for (const Index w : beside) {
          const double strength = vertices_[v].passes && vertices_[w].passes ? 4 : 1;
          sum += strength * vertices_[w].x;
          all += strength;
        }
      };
      if (up) add(vertices_[v].above);
      if (down) add(vertices_[v].below);
      wanted.push_back(all > 0 ? sum / all : vertices_[v].x);
      weight.push_back(all > 0 ? all : 0.1);
    }
    place_layer(layer, wanted, weight);
  }

  void choose_coordinates() {
    for (const std::vector<Index>& layer : layers_)
      place_layer(layer, std::vector<double>(layer.size(), 0), std::vector<double>(layer.size(), 1));
    constexpr int kPasses = 8;
    for (int pass = 0; pass < kPasses; ++pass) {
      const bool last = pass >= kPasses - 2;
      for (const std::vector<Index>& layer : layers_) pull_layer(layer, true, last);
      for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) pull_layer(*layer, last, true);
    }
  }

  Layout result() {
    Layout result;
    double left = 0, right = 0;
    for (Index v = 0; v < vertices_.size(); ++v) {
      left = v == 0 ? vertices_[v].x - half_width(v) : std::min(left, vertices_[v].x - half_width(v));
      right = v == 0 ? vertices_[v].x + half_width(v) : std::max(right, vertices_[v].x + half_width(v));
    }
    for (Vertex& vertex : vertices_) vertex.x -= left;
    result.width = right - left;
    for (const std::vector<Index>& layer : layers_) {
      double height = 0;
      for (const Index v : layer) height = std::max(height, vertices_[v].box.height);
      tops_.push_back(result.height);
      heights_.push_back(height);
      result.height += height + spacing_.between;
    }
    if (!layers_.empty()) result.height -= spacing_.between;
    for (Index v = 0; v < boxes_.size(); ++v) result.boxes.push_back({vertices_[v].x - half_width(v), top_of(v)});
    for (Index l = 0; l < links_.size(); ++l) result.routes.push_back(route(l));
    return result;
  }

  // Centres the box vertically in its layer.
  double top_of(Index v) const {
    const Vertex& vertex = vertices_[v];
    return tops_[vertex.layer] + (heights_[vertex.layer] - vertex.box.height) / 2;
  }

  // Returns the x at which a line meets a box: lines on one side stand apart, in the order of the vertices they come
  // from.
  double port(Index v, Index other, bool above) const {
    const std::vector<Index>& beside = above ? vertices_[v].above : vertices_[v].below;
    double rank = 0;
    for (const Index w : beside)
      rank += vertices_[w].x < vertices_[other].x || (vertices_[w].x == vertices_[other].x && w < other);
    const double width = vertices_[v].box.width * 0.8;
    return vertices_[v].x + width * ((rank + 0.5) / static_cast<double>(beside.size()) - 0.5);
  }

  std::vector<Point> route(Index link) const {
    std::vector<Point> points;
    const std::vector<Index>& chain = chains_[link];
    if (chain.empty()) return points;
    const Index begin = chain.front(), end = chain.back();
    points.push_back({port(begin, chain[1], false), top_of(begin) + vertices_[begin].box.height});
    for (Index i = 1; i + 1 < chain.size(); ++i) {
      const Vertex& passage = vertices_[chain[i]];
      points.push_back({passage.x, tops_[passage.layer]});
      points.push_back({passage.x, tops_[passage.layer] + heights_[passage.layer]});
    }
    points.push_back({port(end, chain[chain.size() - 2], true), top_of(end)});
    if (links_[link].from != begin) std::reverse(points.begin(), points.end());
    return points;
  }

  const std::vector<Box>& boxes_;
  const std::vector<Link>& links_;
  const Spacing spacing_;
  std::vector<Vertex> vertices_;            // the boxes, then passages
  std::vector<std::vector<Index>> chains_;  // of each link, from above to below
  std::vector<std::vector<Index>> layers_;  // from left to right
  std::vector<double> tops_, heights_;      // of the layers
};

}  // namespace

Layout lay_out(const std::vector<Box>& boxes, const std::vector<Link>& links, const Spacing& spacing) {
  return Drawing(boxes, links, spacing).draw();
}

}  // namespace castscope::graph
