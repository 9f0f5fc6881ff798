import PosternCrypto
import PosternJSON
import PosternJSONRPC

/// An answer that lists something, written entry by entry until it is full. For one task.
package final class ListPage {
  /// An answer has 1 MiB at most; the rest is for the members around the entries.
  static let maxBytes = (1 << 20) - 4096

  private var entries: [JSONText] = []
  private var byteCount = 0
  private let limit: Int
  private var fault: RPCFault?
  /// The position of the last entry.
  private var last: Int64 = 0
  /// Whether an entry did not fit.
  private var isCut = false
  /// The moment whose list all pages show, where what is listed changes its place; 0: none has been chosen.
  package var moment: Int64

  init(limit: Int, moment: Int64) {
    self.limit = limit
    self.moment = moment
  }

  /// Adds an entry; false when the page is complete: the entry does not fit, or cannot be written. The first one always
  /// fits.
  package func add(_ entry: some Encodable, at position: Int64) -> Bool {
    guard entries.count < limit else { return cut() }
    let text: JSONText
    do {
      text = JSONText(try JSONValueEncoder().encode(entry))
    } catch {
      fault = RPCFault(.internalError)
      return false
    }
    guard entries.isEmpty || byteCount + text.bytes.count < Self.maxBytes else { return cut() }
    entries.append(text)
    // With its comma.
    byteCount += text.bytes.count + 1
    last = position
    return true
  }

  private func cut() -> Bool {
    isCut = true
    return false
  }

  /// The answer with the entries as `member`, and where there are more with what `cursor` makes of the last one's
  /// position and the moment.
  func finished(
    as member: StaticString, cursor: (ListCursors.Position) throws(CryptoError) -> String
  ) throws(RPCFault) -> JSONText {
    if let fault { throw fault }
    let text = JSONComposer()
    text.literal("{\"")
    text.literal(member)
    text.literal("\":[")
    for (index, entry) in entries.enumerated() {
      if index > 0 { text.literal(",") }
      text.written(entry)
    }
    text.literal("]")
    if isCut {
      text.literal(",\"nextCursor\":")
      do throws(CryptoError) {
        text.string(try cursor(ListCursors.Position(entry: last, moment: moment)))
      } catch {
        throw RPCFault(.internalError)
      }
    }
    text.literal("}")
    return text.finished()
  }
}
