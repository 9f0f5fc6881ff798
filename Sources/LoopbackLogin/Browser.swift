import Glibc
import PosternSupport

/// The user's browser.
package enum Browser {
  /// Opens `url` where there is a desktop; without one nothing happens, and the printed address is all there is.
  package static func open(_ url: String) {
    guard getenv("DISPLAY") != nil || getenv("WAYLAND_DISPLAY") != nil || getenv("BROWSER") != nil else { return }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    // Its chatter is not this command's output.
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    var arguments: [UnsafeMutablePointer<CChar>?] = ["xdg-open", url].map { (word: String) in strdup(word) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var process: pid_t = 0
    // No shell in between: the address goes over as one word, whatever is in it.
    guard posix_spawnp(&process, "xdg-open", &actions, nil, &arguments, environ) == 0 else { return }
    // A program that logs many users in would keep an entry for each that has ended.
    try? SystemThread.start("postern-browser") { [process] in waitpid(process, nil, 0) }
  }
}
