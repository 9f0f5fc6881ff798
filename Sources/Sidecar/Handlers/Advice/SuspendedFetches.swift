import AuthEngine
import HTTPMessages
import PosternJSON
import PosternSupport

/// Fetches that wait for advice to be satisfied, under continuations: the request as it was, so that nothing else can
/// ride on what the user agrees to.
final class SuspendedFetches: Sendable {
  /// The fetch as the caller requested it.
  struct Origin: Sendable {
    let uid: UInt32
    /// The resource server's name in the configuration.
    let resource: String
    /// The resource's URL at that time: the user's consent to a request to one server does not hold for another.
    let baseURL: HTTPURL
    var request: ResourceRequest
    let options: FetchOptions
    let stream: BodyStream?
    let task: String
    let wait: Duration
    /// The endpoints, and `narrow`s, that the call came through, the outermost first.
    let path: [String]
  }

  /// A suspended fetch.
  struct Fetch: Sendable {
    let origin: Origin
    let session: SessionHandle
    let advices: [PolicyAdvice]
    let progress: AdviceProgress
  }

  /// A fetch that was taken, and can be put back.
  typealias Taken = ExpiringStore<Fetch>.Taken

  /// How much longer than the delegate's time to answer the fetch is kept.
  private static let grace = Duration.seconds(5)
  /// The largest request that a message can hold fits into one peer's share, as long as not two others have taken
  /// theirs. A session has as many as a page with many parts may request at once.
  private static let limits = ExpiringStore<Fetch>.Limits(
    capacity: 16_384, capacityPerUID: 4096, capacityPerHolder: 32, maxBytes: 64 << 20, maxBytesPerUID: 32 << 20,
    grace: grace)

  private let store: ExpiringStore<Fetch>

  init(clock: any EngineClock) { store = ExpiringStore(Self.limits, clock: clock) }

  /// How many are suspended.
  var count: Int { store.count }

  /// Stores a fetch. It replaces an older one if its session or its uid has reached its limit; nil if there
  /// is no room.
  func hold(_ fetch: Fetch) -> String? {
    let name = SessionHandle.random().text
    let origin = fetch.origin
    let isKept = store.keep(
      fetch, as: name, of: origin.uid, holder: fetch.session.text, path: origin.path, byteCount: Self.size(of: fetch),
      for: origin.wait)
    return isKept ? name : nil
  }

  /// A fetch of that uid, which stays suspended.
  func fetch(_ name: String, of uid: UInt32) -> Fetch? { store.value(name, of: uid) }

  /// Takes a fetch of that uid: of several callers one gets it.
  func take(_ name: String, of uid: UInt32) -> Taken? { store.take(name, of: uid) }

  /// Puts one back, until its original expiry: nothing has been sent.
  func putBack(_ taken: Taken) { store.putBack(taken) }

  /// Removes a fetch that is over, or continues by itself.
  func release(_ name: String) { store.remove(name) }

  /// Suspends a fetch whose delegate did not answer in time. False when it is gone.
  func stop(_ name: String, of uid: UInt32) -> Bool { store.extend(name, of: uid, late: Self.grace) }

  /// Starts the time of a fetch again, after the user has done their part. False when it is gone.
  func extend(_ name: String, of uid: UInt32) -> Bool { store.extend(name, of: uid) }

  private static func size(of fetch: Fetch) -> Int {
    let request = fetch.origin.request
    let parts = (request.multipart ?? []).reduce(0) { $0 + $1.data.count + 1024 }
    let fields = request.headers.lines.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
    // As a text: values nest, and a single one may have megabytes.
    let parameters = request.parameters.map { JSONWriter().withBytes(of: .object($0)) { $0.count } } ?? 0
    return 4096 + (request.body?.count ?? 0) + parts + fields + request.path.utf8.count + parameters
      + (request.parameters?.count ?? 0) * 256
  }
}
