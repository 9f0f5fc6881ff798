import Foundation
import PosternSupport

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A session's delegate that records its calls.
final class TaskRecorder: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate {
  struct End: Sendable {
    let status: Int?
    let error: URLError?
  }

  private let log = Locked<(data: Data, ends: [End], files: Int)>((Data(), [], 0))

  var data: Data { log.withLock { $0.data } }
  var ends: [End] { log.withLock { $0.ends } }
  var files: Int { log.withLock { $0.files } }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    log.withLock { $0.data += data }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    let end = End(
      status: (task.response as? HTTPURLResponse)?.statusCode,
      error: error.map { $0 as? URLError ?? URLError(.unknown) })
    log.withLock { $0.ends.append(end) }
  }

  func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
    log.withLock { $0.files += 1 }
  }
}
