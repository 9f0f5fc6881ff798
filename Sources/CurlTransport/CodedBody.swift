/// A whole body as it came, with content codings that are undone in small steps: libcurl would undo as much as it has
/// read at once, of a few kilobytes many megabytes, and nothing else would happen meanwhile.
final class CodedBody {
  /// The outcome of a step.
  enum Progress {
    case more
    case done
    case tooLarge
    case broken
  }

  /// The codings in the order in which they are undone: the last one first.
  private let layers: [Inflation]
  private let limit: Int
  /// No bytes are no body, whatever codings are named.
  private let isEmpty: Bool
  /// The number of bytes that all layers but the last have produced.
  private var between = 0
  private var isBroken: Bool
  /// The decoded bytes so far.
  private(set) var decoded: [UInt8] = []

  /// `bytes` with `codings`, as the server has announced them, decoded to at most `limit` bytes.
  init(_ bytes: [UInt8], codings: [String], limit: Int) {
    layers = codings.reversed().compactMap { Inflation($0) }
    self.limit = limit
    isEmpty = bytes.isEmpty
    isBroken = layers.count != codings.count
    layers.first?.feed(bytes)
  }

  /// Whether all of `codings` can be undone.
  static func knows(_ codings: [String]) -> Bool { codings.allSatisfy(Inflation.knows) }

  /// How many bytes a body may have before that has `limit` afterwards: what cannot be made smaller gets a little
  /// larger.
  static func bytesAtMost(for limit: Int) -> Int { limit > .max / 2 ? limit : limit + limit / 8 + (64 << 10) }

  /// Does a step, of the layer that is nearest to the end and has anything to do.
  func step() -> Progress {
    guard !isBroken else { return .broken }
    guard !isEmpty else { return .done }
    for (index, layer) in layers.enumerated().reversed() {
      if layer.hasWork { return step(layer, before: layers.dropFirst(index + 1).first) }
      // What comes before it makes no difference any more.
      if layer.isOver { break }
    }
    // A coding marks its own end. One that has not reached it was cut off, even if all the bytes have arrived that
    // the server declared.
    isBroken = layers.last?.isOver != true
    return isBroken ? .broken : .done
  }

  private func step(_ layer: Inflation, before next: Inflation?) -> Progress {
    do throws(Inflation.Problem) {
      let piece = try layer.step()
      if let next {
        between += piece.count
        guard between <= Self.bytesAtMost(for: limit) else { return .tooLarge }
        next.feed(piece)
      } else {
        guard piece.count <= limit - decoded.count else { return .tooLarge }
        decoded += piece
      }
      return .more
    } catch {
      isBroken = true
      return .broken
    }
  }
}
