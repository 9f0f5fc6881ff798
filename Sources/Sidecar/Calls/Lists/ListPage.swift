import PosternCrypto
import PosternJSON
import PosternJSONRPC
package import PosternProtocol
import PosternSupport

/// An answer that lists something, written entry by entry until it is full. For one task.
package final class ListPage<Result: PageResult> {
  /// An answer has 1 MiB at most; the rest is for the members around the entries.
  private static var maxBytes: Int { (1 << 20) - 4096 }

  private var entries: [PageEntry<Result.Entry>] = []
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
  package func add(_ entry: Result.Entry, at position: Int64) -> Bool {
    guard entries.count < limit else { return cut() }
    let written: PageEntry<Result.Entry>
    do {
      written = try PageEntry(entry)
    } catch {
      fault = RPCFault(.internalError)
      return false
    }
    guard entries.isEmpty || byteCount + written.text.bytes.count < Self.maxBytes else { return cut() }
    entries.append(written)
    // With its comma.
    byteCount += written.text.bytes.count + 1
    last = position
    return true
  }

  private func cut() -> Bool {
    isCut = true
    return false
  }

  /// The answer with the entries, and where there are more with what `cursor` makes of the last one's position and the
  /// moment.
  func finished(
    cursor: (ListCursors.Position) throws(CryptoError) -> String
  ) throws(RPCFault) -> Written<Result> {
    if let fault { throw fault }
    do throws(CryptoError) {
      let next = isCut ? try cursor(ListCursors.Position(entry: last, moment: moment)) : nil
      return Written(Result(entries, nextCursor: next))
    } catch {
      throw RPCFault(.internalError)
    }
  }
}
