import AuthEngine
import Foundation
import HTTPMessages
import PosternSupport
import PosternTestSupport
import PosternURLLoading
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Every kind of task, in every way of waiting for it: it works, or ends with an error before anything is sent.
extension URLSessionTests {
  private typealias Ending = (body: Data?, status: Int?, error: URLError?)

  /// A data task and the results of its completion handler.
  private func makeTask(_ bench: LoadingBench, _ request: URLRequest) -> (URLSessionDataTask, Locked<[Ending]>) {
    let endings = Locked<[Ending]>([])
    let task = bench.session.dataTask(with: request) { body, head, error in
      let ending = (body, (head as? HTTPURLResponse)?.statusCode, error.map { $0 as? URLError ?? URLError(.unknown) })
      endings.withLock { $0.append(ending) }
    }
    return (task, endings)
  }

  /// Returns when Foundation has passed everything that happened to `task` before to the protocol: its property waits
  /// for its queue.
  private func settle(_ task: URLSessionTask) { _ = task.priority }

  @Test("a data task's delegate is given head, body and end; an awaited one works with a delegate of its own, too")
  func delegates() async throws {
    let recorder = TaskRecorder()
    let bench = try await LoadingBench(delegate: recorder) { _ in LoadingBench.reply(200, "body") }
    bench.session.dataTask(with: LoadingBench.request("/x")).resume()
    #expect(await eventually { recorder.ends.count == 1 })
    #expect(recorder.ends.first?.status == 200 && recorder.ends.first?.error == nil)
    #expect(recorder.data == Data("body".utf8))
    let (body, head) = try await bench.session.data(for: LoadingBench.request("/x"), delegate: TaskRecorder())
    #expect(body == Data("body".utf8) && (head as? HTTPURLResponse)?.statusCode == 200)
  }

  @Test(
    "a download task fails before anything is sent: it would end a delegate's process, and lose a completion handler's file"
  )
  func download() async throws {
    let recorder = TaskRecorder()
    let bench = try await LoadingBench(delegate: recorder) { _ in LoadingBench.reply(200, "file") }
    let request = LoadingBench.request("/file")
    let results = Locked<[(file: URL?, error: URLError?)]>([])
    bench.session.downloadTask(with: request) { file, _, error in
      results.withLock { $0.append((file, error as? URLError)) }
    }.resume()
    #expect(await eventually { results.withLock { !$0.isEmpty } })
    #expect(results.withLock { $0.count == 1 && $0[0].file == nil && $0[0].error?.code == .cannotCreateFile })
    #expect(results.withLock { $0[0].error?.localizedDescription.contains("data task") } == true)
    let awaited = await #expect(throws: URLError.self) { _ = try await bench.session.download(for: request) }
    #expect(awaited?.code == .cannotCreateFile)
    bench.session.downloadTask(with: request).resume()
    #expect(await eventually { recorder.ends.count == 1 })
    #expect(recorder.ends.first?.error?.code == .cannotCreateFile && recorder.files == 0)
    #expect(bench.transport.requests.isEmpty)
  }

  @Test("an upload task whose request has the body works, also awaited and from a file; another body is never left out")
  func uploads() async throws {
    let bench = try await LoadingBench { request in
      LoadingBench.reply(200, String(decoding: request.body ?? [], as: UTF8.self))
    }
    var request = LoadingBench.request("/x", method: "PUT")
    let file = FileManager.default.temporaryDirectory.appendingPathComponent(
      "postern-upload-\(ProcessInfo.processInfo.processIdentifier)")
    try Data("up".utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let bare = request
    let lost = await #expect(throws: URLError.self) {
      _ = try await bench.session.upload(for: bare, from: Data("up".utf8))
    }
    let lostFile = await #expect(throws: URLError.self) {
      _ = try await bench.session.upload(for: bare, fromFile: file)
    }
    #expect(lost?.code == .requestBodyStreamExhausted && lostFile?.code == .requestBodyStreamExhausted)
    #expect(bench.transport.requests.isEmpty)
    request.httpBody = Data("up".utf8)
    let whole = request
    let (echo, _) = try await bench.session.upload(for: whole, from: Data("up".utf8))
    let (fileEcho, _) = try await bench.session.upload(for: whole, fromFile: file)
    #expect(echo == Data("up".utf8) && fileEcho == Data("up".utf8))
    #expect(try await bench.session.data(for: bare.uploading(Data("up".utf8))).0 == Data("up".utf8))
    #expect(try await bench.session.data(for: bare.uploading(fileAt: file)).0 == Data("up".utf8))
    let missing = #expect(throws: URLError.self) { try bare.uploading(fileAt: file.appendingPathExtension("none")) }
    #expect(missing?.code == .fileDoesNotExist)
  }

  @Test(
    "an upload from a stream that the session's delegate has is rejected before anything is sent: no protocol gets it")
  func streamedUpload() async throws {
    let recorder = TaskRecorder()
    let bench = try await LoadingBench(delegate: recorder) { _ in LoadingBench.reply(200) }
    bench.session.uploadTask(withStreamedRequest: LoadingBench.request("/x", method: "PUT")).resume()
    #expect(await eventually { recorder.ends.count == 1 })
    #expect(recorder.ends.first?.error?.code == .requestBodyStreamExhausted)
    #expect(bench.transport.requests.isEmpty)
    // The stream in the request itself is read.
    var request = LoadingBench.request("/x", method: "PUT")
    request.httpBodyStream = InputStream(data: Data("up".utf8))
    bench.session.uploadTask(withStreamedRequest: request).resume()
    #expect(await eventually { recorder.ends.count == 2 })
    #expect(recorder.ends.last?.status == 200 && bench.transport.requests.map(\.body) == [Array("up".utf8)])
  }

  @Test("settings for work in the background change nothing: the task is a data task of this process")
  func background() async throws {
    let bench = try await LoadingBench { _ in LoadingBench.reply(200) }
    let configuration = URLSessionConfiguration.ephemeral
    configuration.networkServiceType = .background
    configuration.allowsCellularAccess = false
    configuration.timeoutIntervalForResource = 1
    let session = try PosternURLProtocol.makeSession(configuration: configuration)
    var request = LoadingBench.request("/x")
    request.networkServiceType = .background
    let (_, head) = try await session.data(for: request)
    #expect((head as? HTTPURLResponse)?.statusCode == 200 && bench.transport.requests.count == 1)
    // A web socket's URL is no http: Foundation's own.
    #expect(!PosternURLProtocol.canInit(with: LoadingBench.request("wss://api.example.com/base/x")))
  }

  @Test("a suspended task's fetch is paused, and goes on when it is resumed, however often: one request, one answer")
  func suspension() async throws {
    let (came, pass) = (Gate(), Gate())
    let bench = try await LoadingBench { _ in
      came.open()
      await pass.pass()
      return LoadingBench.reply(200, "late")
    }
    let (task, endings) = makeTask(bench, LoadingBench.request("/x"))
    task.resume()
    await came.pass()
    for _ in 0..<3 {
      task.suspend()
      settle(task)
      #expect(bench.control.withLock { $0?.isPaused } == true)
      task.resume()
      settle(task)
      #expect(bench.control.withLock { $0?.isPaused } == false)
    }
    // Suspended twice it is resumed twice; resumed once more nothing starts again.
    task.suspend()
    task.suspend()
    task.resume()
    settle(task)
    #expect(bench.control.withLock { $0?.isPaused } == true)
    task.resume()
    task.resume()
    settle(task)
    #expect(bench.control.withLock { $0?.isPaused } == false)
    for _ in 0..<100 {
      task.suspend()
      task.resume()
    }
    pass.open()
    #expect(await eventually { endings.withLock { !$0.isEmpty } })
    #expect(endings.withLock { $0.count == 1 && $0[0].body == Data("late".utf8) && $0[0].status == 200 })
    #expect(bench.transport.requests.count == 1)
  }

  @Test(
    "a task that is suspended while its body is read sends nothing; resumed, and resumed twice, it reads the body once")
  func suspendedReading() async throws {
    let bench = try await LoadingBench { _ in LoadingBench.reply(200) }
    let body = SlowStream.Source("slow body")
    var request = LoadingBench.request("/x", method: "POST")
    request.httpBodyStream = SlowStream(body)
    let (task, endings) = makeTask(bench, request)
    task.resume()
    task.resume()
    #expect(await eventually { body.isRead })
    task.suspend()
    settle(task)
    body.release()
    // What comes later is answered before.
    _ = try await bench.outcome(LoadingBench.request("/later")).get()
    #expect(bench.transport.requests.map(\.url.path) == ["/base/later"])
    task.resume()
    #expect(await eventually { endings.withLock { !$0.isEmpty } })
    #expect(endings.withLock { $0.count == 1 && $0[0].status == 200 })
    #expect(bench.transport.requests.map(\.body) == [nil, Array("slow body".utf8)])
  }

  @Test("a suspended task that is cancelled ends its fetch, and gets one error")
  func suspendedCancellation() async throws {
    let (came, left) = (Gate(), Gate())
    let bench = try await LoadingBench { _ throws(TransportError) in
      came.open()
      try? await Task.sleep(for: .seconds(60))
      left.open()
      return LoadingBench.reply(200)
    }
    let (task, endings) = makeTask(bench, LoadingBench.request("/slow"))
    task.resume()
    await came.pass()
    task.suspend()
    settle(task)
    task.cancel()
    await left.pass()
    #expect(await eventually { endings.withLock { !$0.isEmpty } })
    #expect(endings.withLock { $0.map { $0.error?.code } } == [.cancelled])
  }

  @Test(
    "a 401 with a Basic challenge ends the task: Foundation would ask itself for a password for ever, or go past the engine with one",
    arguments: [
      #"Basic realm="x""#, #"basic realm=x"#, #"Digest realm="y", Basic realm="x""#,
      #"Bearer error_description="a, basic realm=b""#,
    ])
  func basicChallenge(_ challenge: String) async throws {
    let bench = try await LoadingBench { _ in
      LoadingBench.reply(401, "no", ("WWW-Authenticate", challenge), ("WWW-Authenticate", #"DPoP algs="ES256""#))
    }
    let (body, head) = try await bench.outcome(LoadingBench.request("/x")).get()
    #expect(head.statusCode == 401 && body == Data("no".utf8))
    #expect(head.value(forHTTPHeaderField: "WWW-Authenticate") == #"DPoP algs="ES256""#)
    #expect(head.value(forHTTPHeaderField: "Postern-WWW-Authenticate") == challenge)
  }
}
